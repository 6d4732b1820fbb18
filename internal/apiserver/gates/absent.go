package gates

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/features"
)

// DropAbsent removes from obj the fields that Kubernetes 1.37 has behind gates that are off by
// default, and that allot does not use, or only with that gate. As with Drop, an object that already
// has a field keeps it.
//
// It is called for each write, and hardly any object has such a field. That is found out without a
// copy of the object.
func DropAbsent(on features.Set, obj, old runtime.Object) {
	if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
		before, _ := old.(*corev1.PersistentVolumeClaim)
		dropSourceElsewhere(&claim.Spec, before)
	}
	for i, visit := range visitorsByGate(on, obj) {
		if !isSet(visit) || old != nil && isSet(visitorsByGate(on, old)[i]) {
			continue
		}
		visit(&visitor{clear: true})
	}
}

// isSet reports whether one of the fields that a function visits is set.
func isSet(visit func(*visitor)) bool {
	var v visitor
	visit(&v)
	return v.found
}

// visitor visits fields of an object.
type visitor struct {
	// clear means that the fields are dropped.
	clear bool
	// found is whether a field was set.
	found bool
}

// visitPointer visits a field that is set if it is not nil.
func visitPointer[T any](v *visitor, field **T) {
	if *field == nil {
		return
	}
	v.found = true
	if v.clear {
		*field = nil
	}
}

// visitList visits a field that is set if it is not empty.
func visitList[T any](v *visitor, field *[]T) {
	if len(*field) == 0 {
		return
	}
	v.found = true
	if v.clear {
		*field = nil
	}
}

// visitorsByGate returns, for each gate, a function that visits its fields in an object.
func visitorsByGate(on features.Set, obj runtime.Object) []func(*visitor) {
	if spec, _ := podSpec(obj); spec != nil {
		out := absentOfSpec(spec)
		if pod, ok := obj.(*core.Pod); ok {
			out = append(out,
				func(v *visitor) { visitList(v, &pod.Status.VolumeHealth) },
				func(v *visitor) { volumeStatuses(v, &pod.Status) },
			)
		}
		return out
	}
	if !on.On(features.CompositePodGroup) {
		switch o := obj.(type) {
		case *scheduling.PodGroup:
			return []func(*visitor){func(v *visitor) { visitPointer(v, &o.Spec.ParentCompositePodGroupName) }}
		case *scheduling.Workload:
			return []func(*visitor){func(v *visitor) { visitList(v, &o.Spec.CompositePodGroupTemplates) }}
		}
	}
	switch o := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return []func(*visitor){func(v *visitor) { visitPointer(v, &o.Status.HealthStatus) }}
	case *corev1.Node:
		return []func(*visitor){
			func(v *visitor) { visitPointer(v, &o.Spec.ConfigSource) }, //nolint:staticcheck // old clients may send it
			func(v *visitor) { visitPointer(v, &o.Status.Config) },
			func(v *visitor) { visitPointer(v, &o.Spec.PodPreemptionPolicy) },
		}
	case *storagev1.CSINode:
		return []func(*visitor){func(v *visitor) { visitList(v, &o.Status.StorageHealth) }}
	case *coordinationv1.Lease:
		return []func(*visitor){func(v *visitor) {
			visitPointer(v, &o.Spec.Strategy)
			visitPointer(v, &o.Spec.PreferredHolder)
		}}
	}
	return nil
}

// dropSourceElsewhere drops a source in another namespace, unless the old claim has a
// dataSourceRef, in any namespace.
func dropSourceElsewhere(spec *corev1.PersistentVolumeClaimSpec, old *corev1.PersistentVolumeClaim) {
	if old != nil && old.Spec.DataSourceRef != nil {
		return
	}
	if ref := spec.DataSourceRef; ref != nil && ptr.Deref(ref.Namespace, "") != "" {
		spec.DataSourceRef = nil
	}
}

func absentOfSpec(spec *core.PodSpec) []func(*visitor) {
	return []func(*visitor){
		func(v *visitor) { visitList(v, &spec.EvictionResponders) },
		func(v *visitor) {
			eachProbe(spec, func(p *corev1.Probe) {
				if p.GRPC != nil {
					visitPointer(v, &p.GRPC.Mode)
				}
			})
		},
		func(v *visitor) { httpProtocols(v, spec) },
		func(v *visitor) { spec.EachContainer(func(c *corev1.Container) { stopSignal(v, c) }) },
		func(v *visitor) {
			spec.EachContainer(func(c *corev1.Container) {
				for i := range c.VolumeMounts {
					visitList(v, &c.VolumeMounts[i].BindMountOptions)
				}
			})
		},
		func(v *visitor) {
			for i := range spec.Volumes {
				if dir := spec.Volumes[i].EmptyDir; dir != nil {
					visitPointer(v, &dir.Mode)
				}
			}
		},
		func(v *visitor) { fileUsers(v, spec.Volumes) },
	}
}

func eachProbe(spec *core.PodSpec, do func(*corev1.Probe)) {
	spec.EachContainer(func(c *corev1.Container) {
		for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if p != nil {
				do(p)
			}
		}
	})
}

func httpProtocols(v *visitor, spec *core.PodSpec) {
	eachProbe(spec, func(p *corev1.Probe) {
		if p.HTTPGet != nil {
			visitPointer(v, &p.HTTPGet.Protocol)
		}
	})
	spec.EachContainer(func(c *corev1.Container) {
		if c.Lifecycle == nil {
			return
		}
		for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if hook != nil && hook.HTTPGet != nil {
				visitPointer(v, &hook.HTTPGet.Protocol)
			}
		}
	})
}

// stopSignal visits the stop signal. The lifecycle is dropped with it if nothing else is in it.
func stopSignal(v *visitor, c *corev1.Container) {
	if c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return
	}
	visitPointer(v, &c.Lifecycle.StopSignal)
	if v.clear && *c.Lifecycle == (corev1.Lifecycle{}) {
		c.Lifecycle = nil
	}
}

// fileUsers visits the owners of the files in volumes.
func fileUsers(v *visitor, volumes []corev1.Volume) {
	for i := range volumes {
		if s := volumes[i].Secret; s != nil {
			visitPointer(v, &s.DefaultUser)
			keyUsers(v, s.Items)
		}
		if s := volumes[i].ConfigMap; s != nil {
			visitPointer(v, &s.DefaultUser)
			keyUsers(v, s.Items)
		}
		if s := volumes[i].DownwardAPI; s != nil {
			visitPointer(v, &s.DefaultUser)
			downwardUsers(v, s.Items)
		}
		if s := volumes[i].Projected; s != nil {
			visitPointer(v, &s.DefaultUser)
			for j := range s.Sources {
				projectedUsers(v, &s.Sources[j])
			}
		}
	}
}

func keyUsers(v *visitor, items []corev1.KeyToPath) {
	for i := range items {
		visitPointer(v, &items[i].User)
	}
}

func downwardUsers(v *visitor, items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		visitPointer(v, &items[i].User)
	}
}

func projectedUsers(v *visitor, p *corev1.VolumeProjection) {
	if p.Secret != nil {
		keyUsers(v, p.Secret.Items)
	}
	if p.ConfigMap != nil {
		keyUsers(v, p.ConfigMap.Items)
	}
	if p.DownwardAPI != nil {
		downwardUsers(v, p.DownwardAPI.Items)
	}
	if p.ServiceAccountToken != nil {
		visitPointer(v, &p.ServiceAccountToken.User)
	}
	if p.ClusterTrustBundle != nil {
		visitPointer(v, &p.ClusterTrustBundle.User)
	}
	if p.PodCertificate != nil {
		visitPointer(v, &p.PodCertificate.User)
	}
}

func volumeStatuses(v *visitor, status *corev1.PodStatus) {
	for _, statuses := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses,
		status.EphemeralContainerStatuses} {
		for i := range statuses {
			for j := range statuses[i].VolumeMounts {
				visitPointer(v, &statuses[i].VolumeMounts[j].VolumeStatus)
			}
		}
	}
}
