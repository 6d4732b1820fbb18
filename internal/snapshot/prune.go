package snapshot

import (
	corev1 "k8s.io/api/core/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
)

// Prune removes what does not decide and may be secret or large.
func Prune(object client.Object) {
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		if len(annotations) == 0 {
			object.SetAnnotations(nil)
		}
	}
	switch o := object.(type) {
	case *core.Pod:
		prunePod(&o.Spec)
		o.Status.HostIP, o.Status.HostIPs, o.Status.PodIP, o.Status.PodIPs = "", nil, "", nil
	case *batch.Job:
		prunePod(&o.Spec.Template.Spec)
	case *apps.Deployment:
		prunePod(&o.Spec.Template.Spec)
	case *apps.ReplicaSet:
		prunePod(&o.Spec.Template.Spec)
	case *apps.StatefulSet:
		prunePod(&o.Spec.Template.Spec)
	case *apps.DaemonSet:
		prunePod(&o.Spec.Template.Spec)
	case *corev1.Node:
		o.Status.Addresses = nil
		o.Status.NodeInfo.MachineID, o.Status.NodeInfo.SystemUUID, o.Status.NodeInfo.BootID = "", "", ""
	case *corev1.Service:
		o.Spec.ClusterIP, o.Spec.ClusterIPs, o.Spec.ExternalIPs, o.Spec.LoadBalancerIP = "", nil, nil, ""
		o.Status = corev1.ServiceStatus{}
	case *corev1.PersistentVolume:
		o.Spec.PersistentVolumeSource = withoutSource(&o.Spec.PersistentVolumeSource)
	}
}

// prunePod removes what containers run, and volumes that do not decide where a pod runs.
func prunePod(spec *core.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			pruneContainer(&containers[i])
		}
	}
	spec.EphemeralContainers = nil
	spec.HostAliases, spec.DNSConfig, spec.ImagePullSecrets = nil, nil, nil
	var volumes []corev1.Volume
	for i := range spec.Volumes {
		if v := &spec.Volumes[i]; v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.Image != nil {
			volumes = append(volumes, *v)
		}
	}
	spec.Volumes = volumes
}

func pruneContainer(c *corev1.Container) {
	c.Command, c.Args, c.WorkingDir, c.Env, c.EnvFrom = nil, nil, "", nil, nil
	c.VolumeMounts, c.VolumeDevices = nil, nil
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
}

// withoutSource returns which driver a volume is of, which limits the volumes of a node, without
// where it is.
func withoutSource(source *corev1.PersistentVolumeSource) corev1.PersistentVolumeSource {
	if source.CSI == nil {
		return corev1.PersistentVolumeSource{}
	}
	return corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: source.CSI.Driver, VolumeHandle: source.CSI.VolumeHandle},
	}
}
