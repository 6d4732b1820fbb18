package statefulset

import (
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

var (
	kind    = appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	podKind = corev1.SchemeGroupVersion.WithKind("Pod")
)

// ordinalOf returns the number at the end of a pod's name. ok is false if the set has no pod with
// this name.
func ordinalOf(set *apps.StatefulSet, pod *core.Pod) (ordinal int, ok bool) {
	digits, ok := strings.CutPrefix(pod.Name, set.Name+"-")
	if !ok {
		return 0, false
	}
	return parseOrdinal(digits)
}

// parseOrdinal accepts only digits in the form of strconv: web-01 is not the pod of ordinal 1.
func parseOrdinal(digits string) (ordinal int, ok bool) {
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != digits {
		return 0, false
	}
	return int(n), true
}

// isMember reports whether the name of the pod is one of the set's.
func isMember(set *apps.StatefulSet, pod *core.Pod) bool {
	_, ok := ordinalOf(set, pod)
	return ok
}

func podName(set *apps.StatefulSet, ordinal int) string {
	return set.Name + "-" + strconv.Itoa(ordinal)
}

// start returns the first ordinal.
func start(set *apps.StatefulSet) int {
	if set.Spec.Ordinals == nil {
		return 0
	}
	return int(set.Spec.Ordinals.Start)
}

// replicas returns spec.replicas. The server sets a missing number to 1.
func replicas(set *apps.StatefulSet) int {
	if set.Spec.Replicas == nil {
		return 1
	}
	return int(*set.Spec.Replicas)
}

// isWanted reports whether the set requests a pod with this ordinal.
func isWanted(set *apps.StatefulSet, ordinal int) bool {
	return ordinal >= start(set) && ordinal < start(set)+replicas(set)
}

// Revision is a pod template with the name of its ControllerRevision.
type Revision struct {
	Name     string
	Template *core.PodTemplateSpec
}

func revisionOf(pod *core.Pod) string { return pod.Labels[appsv1.StatefulSetRevisionLabel] }

// newPod returns the pod of an ordinal with the template of a revision.
func newPod(set *apps.StatefulSet, revision Revision, ordinal int) *core.Pod {
	pod := replica.New(set, kind, revision.Template)
	pod.Name = podName(set, ordinal) // generateName is kept, as in Kubernetes
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	maps.Copy(pod.Labels, identity(pod.Name, ordinal))
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision.Name
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	pod.Spec.Volumes = volumes(set, ordinal, pod.Spec.Volumes)
	return pod
}

// identity returns the labels that select one pod of a set.
func identity(name string, ordinal int) map[string]string {
	return map[string]string{
		appsv1.StatefulSetPodNameLabel: name,
		appsv1.PodIndexLabel:           strconv.Itoa(ordinal),
	}
}
