package groups

import (
	"fmt"
	"strings"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Quorum is how many pods a PodGroup has and wants. Each pod is counted once in one
// of Ready, Gated, Terminating and Finished.
type Quorum struct {
	// Gang: at least Min pods are placed together or none is. Else Min is 0.
	Gang bool
	Min  int
	// Ready pods exist and may run: not gated, not terminating, not finished.
	Ready       int
	Gated       int
	Terminating int
	Finished    int
	// Placed pods have a node; finished ones count, terminating ones do not.
	Placed int
}

// Count counts the pods of the PodGroup. Pods that do not name it are passed over.
func Count(group *scheduling.PodGroup, pods []*core.Pod) Quorum {
	var q Quorum
	if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
		q.Gang, q.Min = true, int(gang.MinCount)
	}
	for _, pod := range pods {
		if !names(pod, group) {
			continue
		}
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			q.Placed++
		}
		switch {
		case pod.Finished():
			q.Finished++
		case pod.DeletionTimestamp != nil:
			q.Terminating++
		case len(pod.Spec.SchedulingGates) > 0:
			q.Gated++
		default:
			q.Ready++
		}
	}
	return q
}

// Met tells whether there are enough pods for the group to be tried.
func (q Quorum) Met() bool { return q.Ready >= q.Min }

// Message says what is missing, or what there is. It has no times, and is the same
// for the same counts.
func (q Quorum) Message() string {
	var text string
	if q.Gang {
		text = q.of(q.Ready, "exist")
	} else {
		text = fmt.Sprintf("%d pods exist", q.Ready)
	}
	var more []string
	for _, other := range []struct {
		n    int
		what string
	}{{q.Gated, "gated"}, {q.Terminating, "terminating"}, {q.Finished, "finished"}} {
		if other.n > 0 {
			more = append(more, fmt.Sprintf("%d %s", other.n, other.what))
		}
	}
	if len(more) > 0 {
		text += " (not counted: " + strings.Join(more, ", ") + ")"
	}
	return text
}

// of returns how many pods of a gang are in a state, and how many it needs: "3 of 4 pods exist".
func (q Quorum) of(n int, state string) string {
	if n > q.Min {
		return fmt.Sprintf("%d pods %s (minCount %d)", n, state, q.Min)
	}
	return fmt.Sprintf("%d of %d pods %s", n, q.Min, state)
}

// names tells whether the pod names this PodGroup.
func names(pod *core.Pod, group *scheduling.PodGroup) bool {
	g := pod.Spec.SchedulingGroup
	return g != nil && g.PodGroupName != nil && *g.PodGroupName == group.Name && pod.Namespace == group.Namespace
}
