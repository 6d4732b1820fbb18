package gates

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/features"
)

// DropAbsent removes from obj the fields that Kubernetes 1.37 has behind gates that are off by
// default, and that allot does not use, or only with that gate. As with Drop, an object that already
// has a field keeps it.
func DropAbsent(on features.Set, obj, old runtime.Object) {
	if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
		before, _ := old.(*corev1.PersistentVolumeClaim)
		dropSourceElsewhere(&claim.Spec, before)
	}
	for i, drop := range absent(on, obj) {
		if old != nil {
			was := old.DeepCopyObject()
			absent(on, was)[i]()
			if !apiequality.Semantic.DeepEqual(was, old) {
				continue
			}
		}
		drop()
	}
}

// absent returns, for each gate, a function that drops its fields from an object.
func absent(on features.Set, obj runtime.Object) []func() {
	if spec, _ := podSpec(obj); spec != nil {
		out := absentOfSpec(spec)
		if pod, ok := obj.(*core.Pod); ok {
			out = append(out,
				func() { pod.Status.VolumeHealth = nil },
				func() { dropVolumeStatuses(&pod.Status) },
			)
		}
		return out
	}
	if !on.On(features.CompositePodGroup) {
		switch o := obj.(type) {
		case *scheduling.PodGroup:
			return []func(){func() { o.Spec.ParentCompositePodGroupName = nil }}
		case *scheduling.Workload:
			return []func(){func() { o.Spec.CompositePodGroupTemplates = nil }}
		}
	}
	switch o := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return []func(){func() { o.Status.HealthStatus = nil }}
	case *corev1.Node:
		return []func(){
			func() { o.Spec.ConfigSource = nil }, //nolint:staticcheck // old clients may send it
			func() { o.Status.Config = nil },
			func() { o.Spec.PodPreemptionPolicy = nil },
		}
	case *coordinationv1.Lease:
		return []func(){func() { o.Spec.Strategy, o.Spec.PreferredHolder = nil, nil }}
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

func absentOfSpec(spec *core.PodSpec) []func() {
	return []func(){
		func() { spec.EvictionResponders = nil },
		func() {
			eachProbe(spec, func(p *corev1.Probe) {
				if p.GRPC != nil {
					p.GRPC.Mode = nil
				}
			})
		},
		func() { dropHTTPProtocols(spec) },
		func() { spec.EachContainer(dropStopSignal) },
		func() {
			spec.EachContainer(func(c *corev1.Container) {
				for i := range c.VolumeMounts {
					c.VolumeMounts[i].BindMountOptions = nil
				}
			})
		},
		func() {
			for i := range spec.Volumes {
				if dir := spec.Volumes[i].EmptyDir; dir != nil {
					dir.Mode = nil
				}
			}
		},
		func() { dropFileUsers(spec.Volumes) },
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

func dropHTTPProtocols(spec *core.PodSpec) {
	eachProbe(spec, func(p *corev1.Probe) {
		if p.HTTPGet != nil {
			p.HTTPGet.Protocol = nil
		}
	})
	spec.EachContainer(func(c *corev1.Container) {
		if c.Lifecycle == nil {
			return
		}
		for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if hook != nil && hook.HTTPGet != nil {
				hook.HTTPGet.Protocol = nil
			}
		}
	})
}

// dropStopSignal drops the stop signal, and the lifecycle if nothing else is in it.
func dropStopSignal(c *corev1.Container) {
	if c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return
	}
	c.Lifecycle.StopSignal = nil
	if *c.Lifecycle == (corev1.Lifecycle{}) {
		c.Lifecycle = nil
	}
}

// dropFileUsers drops the owners of the files in volumes.
func dropFileUsers(volumes []corev1.Volume) {
	keys := func(items []corev1.KeyToPath) {
		for i := range items {
			items[i].User = nil
		}
	}
	files := func(items []corev1.DownwardAPIVolumeFile) {
		for i := range items {
			items[i].User = nil
		}
	}
	for i := range volumes {
		if s := volumes[i].Secret; s != nil {
			s.DefaultUser = nil
			keys(s.Items)
		}
		if s := volumes[i].ConfigMap; s != nil {
			s.DefaultUser = nil
			keys(s.Items)
		}
		if s := volumes[i].DownwardAPI; s != nil {
			s.DefaultUser = nil
			files(s.Items)
		}
		if s := volumes[i].Projected; s != nil {
			s.DefaultUser = nil
			for j := range s.Sources {
				dropProjectedUsers(&s.Sources[j], keys, files)
			}
		}
	}
}

func dropProjectedUsers(
	p *corev1.VolumeProjection, keys func([]corev1.KeyToPath), files func([]corev1.DownwardAPIVolumeFile),
) {
	if p.Secret != nil {
		keys(p.Secret.Items)
	}
	if p.ConfigMap != nil {
		keys(p.ConfigMap.Items)
	}
	if p.DownwardAPI != nil {
		files(p.DownwardAPI.Items)
	}
	if p.ServiceAccountToken != nil {
		p.ServiceAccountToken.User = nil
	}
	if p.ClusterTrustBundle != nil {
		p.ClusterTrustBundle.User = nil
	}
	if p.PodCertificate != nil {
		p.PodCertificate.User = nil
	}
}

func dropVolumeStatuses(status *corev1.PodStatus) {
	for _, list := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses,
		status.EphemeralContainerStatuses} {
		for i := range list {
			for j := range list[i].VolumeMounts {
				list[i].VolumeMounts[j].VolumeStatus = nil
			}
		}
	}
}
