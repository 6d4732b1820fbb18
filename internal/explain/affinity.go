package explain

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// antiHolders returns pods that keep the pod away from a node by required anti-affinity: its own,
// or theirs.
func (n *nodeExplainer) antiHolders(info *model.NodeInfo, check nodefit.Check) []Holder {
	var holders []Holder
	for _, other := range n.view.state.Nodes.List() {
		for _, key := range sortedKeys(other.Pods) {
			pod := other.Pods[key]
			who, whom := n.pod, pod
			if check == nodefit.CheckForbidden {
				who, whom = pod, n.pod
			}
			if !slices.ContainsFunc(antiTerms(who), func(term corev1.PodAffinityTerm) bool {
				return sameDomain(info, other, term.TopologyKey) && selects(&term, who, whom)
			}) {
				continue
			}
			if len(holders) == maxHolders {
				return holders
			}
			holders = append(holders, Holder{Held: n.podText(pod), Preemption: n.preemptible(pod)})
		}
	}
	return holders
}

func antiTerms(pod *model.Pod) []corev1.PodAffinityTerm {
	if pod.Shape.Affinity == nil || pod.Shape.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return pod.Shape.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func sameDomain(a, b *model.NodeInfo, key string) bool {
	value, ok := a.Node.Labels[key]
	return ok && b.Node != nil && b.Node.Labels[key] == value
}

// selects reports whether a term of one pod selects another one. A selector of namespaces is not
// evaluated and selects all.
func selects(term *corev1.PodAffinityTerm, who, whom *model.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	if err != nil || !selector.Matches(labels.Set(whom.Shape.Labels)) {
		return false
	}
	if term.NamespaceSelector != nil {
		return true
	}
	namespaces := term.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{who.Key.Namespace}
	}
	return slices.Contains(namespaces, whom.Key.Namespace)
}
