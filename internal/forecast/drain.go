package forecast

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/disruption"
	"github.com/allot-dev/allot/internal/controller/replica"
	"github.com/allot-dev/allot/internal/model"
)

// drain marks a node as unschedulable, and has its pods evicted.
func (s *simulation) drain(name string) error {
	node, ok := s.world.Nodes.Get("", name)
	if !ok {
		return fmt.Errorf("drain node %s: it does not exist", name)
	}
	cordoned := node.DeepCopy()
	cordoned.Spec.Unschedulable = true
	s.put(cordoned)
	s.drained[name] = true
	return nil
}

// evictDrained evicts the pods of drained nodes as kubectl drain does, as far as
// PodDisruptionBudgets permit that now. It reports whether it evicted any.
func (s *simulation) evictDrained() bool {
	if len(s.drained) == 0 {
		return false
	}
	clear(s.blocked)
	evicted := false
	for _, pod := range s.world.Pods.List() {
		if !s.drained[pod.Spec.NodeName] || !drains(pod) {
			continue
		}
		if budget := s.protecting(pod); budget != "" {
			s.blocked[model.KeyOf(pod)] = fmt.Sprintf("PodDisruptionBudget %s permits no eviction", budget)
			continue
		}
		s.end(pod, Evict, "node "+pod.Spec.NodeName+" is drained")
		evicted = true
	}
	return evicted
}

// drains reports whether kubectl drain evicts the pod: pods of DaemonSets and of files of the node
// stay.
func drains(pod *core.Pod) bool {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror || pod.Finished() ||
		pod.DeletionTimestamp != nil {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner == nil || owner.Kind != "DaemonSet"
}

// protecting returns the PodDisruptionBudget that does not permit the eviction of a pod now, or "".
func (s *simulation) protecting(pod *core.Pod) string {
	for _, budget := range s.world.Budgets.List() {
		if budget.Namespace != pod.Namespace || !selects(budget, pod) || !replica.Ready(pod) {
			continue
		}
		var pods []*core.Pod
		for _, other := range s.world.Pods.List() {
			if other.Namespace == pod.Namespace && !other.Finished() && selects(budget, other) {
				pods = append(pods, other)
			}
		}
		expected, wanted, err := disruption.Wanted(&budget.Spec, int32(len(pods)), s.scale(pods))
		if err != nil || disruption.Count(budget, pods, expected, wanted, s.now).Status.DisruptionsAllowed == 0 {
			return budget.Name
		}
	}
	return ""
}

// scale returns how many pods the controllers of some pods request.
func (s *simulation) scale(pods []*core.Pod) int32 {
	total, seen := int32(0), map[types.UID]bool{}
	for _, pod := range pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || seen[owner.UID] {
			continue
		}
		seen[owner.UID] = true
		if rs, ok := s.world.ReplicaSets.Get(pod.Namespace, owner.Name); ok && rs.UID == owner.UID {
			total += ptr.Deref(rs.Spec.Replicas, 1)
			continue
		}
		if set, ok := s.world.StatefulSets.Get(pod.Namespace, owner.Name); ok && set.UID == owner.UID {
			total += ptr.Deref(set.Spec.Replicas, 1)
			continue
		}
		total += int32(len(s.world.Pods.ByIndex(byOwner, string(owner.UID))))
	}
	return total
}

func selects(budget *policyv1.PodDisruptionBudget, pod *core.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}
