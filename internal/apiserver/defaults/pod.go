package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Pod sets the defaults of a pod: those of its spec, and those that only pods have and pod
// templates do not, such as requests that follow limits.
func Pod(pod *core.Pod) {
	spec := &pod.Spec
	if grace := spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	}
	podSpec(spec)
	if spec.EnableServiceLinks == nil {
		spec.EnableServiceLinks = ptr.To(corev1.DefaultEnableServiceLinks)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			requestsFromLimits(&containers[i].Resources)
			if spec.HostNetwork {
				hostPorts(containers[i].Ports)
			}
		}
	}
	podStatus(&pod.Status)
}

// podSpec sets the defaults that pods and pod templates have in common.
func podSpec(spec *core.PodSpec) {
	// The deprecated field for the service account mirrors the new one.
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	orElse(&spec.DNSPolicy, corev1.DNSClusterFirst)
	orElse(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	orElse(&spec.SchedulerName, corev1.DefaultSchedulerName)
	orNew(&spec.SecurityContext, corev1.PodSecurityContext{})
	orNew(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	for i := range spec.Volumes {
		volume(&spec.Volumes[i])
	}
	spec.EachContainer(container)
	quantities(spec.Overhead)
	if spec.Resources != nil {
		quantities(spec.Resources.Limits)
		quantities(spec.Resources.Requests)
	}
}

func requestsFromLimits(resources *corev1.ResourceRequirements) {
	if resources.Limits == nil {
		return
	}
	if resources.Requests == nil {
		resources.Requests = corev1.ResourceList{}
	}
	for name, limit := range resources.Limits {
		if _, ok := resources.Requests[name]; !ok {
			resources.Requests[name] = limit.DeepCopy()
		}
	}
}

func hostPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		orElse(&ports[i].HostPort, ports[i].ContainerPort)
	}
}

// podStatus keeps podIP and podIPs consistent. podIP takes precedence.
func podStatus(status *corev1.PodStatus) {
	switch {
	case status.PodIP == "" && len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
	for _, statuses := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses,
		status.EphemeralContainerStatuses} {
		for i := range statuses {
			quantities(statuses[i].AllocatedResources)
			if statuses[i].Resources != nil {
				quantities(statuses[i].Resources.Limits)
				quantities(statuses[i].Resources.Requests)
			}
		}
	}
}

// orElse sets an empty field.
func orElse[T comparable](field *T, value T) {
	var empty T
	if *field == empty {
		*field = value
	}
}

// orNew sets a pointer field if it is nil.
func orNew[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func percent(text string) intstr.IntOrString { return intstr.FromString(text) }
