package daemonset

import (
	"cmp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// hashLabel distinguishes revisions, and pods by their revision.
const hashLabel = appsv1.DefaultDaemonSetUniqueLabelKey

var kind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")

// NewPod returns the pod of the set for a node. hash is that of the revision.
func NewPod(set *apps.DaemonSet, node, hash string) *core.Pod {
	pod := replica.New(set, kind, &set.Spec.Template)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[hashLabel] = hash
	pod.Spec.Tolerations = tolerations(&set.Spec.Template.Spec)
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	// The node satisfies the affinity of the template, or the pod would not be created for it.
	pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = onlyNode(node)
	return pod
}

func onlyNode(name string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name},
		}},
	}}}
}

// nodeOf returns the node that the pod is bound to, or else the node that it was created for.
func nodeOf(pod *core.Pod) (name string, ok bool) {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName, true
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil ||
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return "", false
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0], true
			}
		}
	}
	return "", false
}

// byAge sorts bound pods before others, then by age, the oldest first. The first pod is the one to
// keep.
func byAge(a, b *core.Pod) int {
	isUnbound := func(pod *core.Pod) int {
		if pod.Spec.NodeName == "" {
			return 1
		}
		return 0
	}
	return cmp.Or(
		isUnbound(a)-isUnbound(b),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		strings.Compare(a.Name, b.Name),
	)
}
