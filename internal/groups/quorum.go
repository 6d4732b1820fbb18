package groups

import (
	"fmt"
	"strings"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Quorum counts the pods of a PodGroup. Each pod is counted in exactly one of Ready, Gated,
// Terminating and Finished.
type Quorum struct {
	// Gang means that at least Min pods are placed together or none is. Min is 0 for a basic group.
	Gang bool
	Min  int
	// Ready counts pods that may run: not gated, terminating or finished.
	Ready       int
	Gated       int
	Terminating int
	Finished    int
	// Placed counts pods with a node, including finished but not terminating ones.
	Placed int
}

// Count counts the pods of the PodGroup. Pods that do not name it are ignored.
func Count(group *scheduling.PodGroup, pods []*core.Pod) Quorum {
	var q Quorum
	if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
		q.Gang, q.Min = true, int(gang.MinCount)
	}
	for _, pod := range pods {
		if !isMember(pod, group) {
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

// Met reports whether there are enough pods to schedule the group.
func (q Quorum) Met() bool { return q.Ready >= q.Min }

// Message describes the counts. Equal counts give equal messages.
func (q Quorum) Message() string {
	var text string
	if q.Gang {
		text = q.ratio(q.Ready, "exist")
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

// ratio returns how many pods of a gang are in a state, and how many it needs: "3 of 4 pods exist".
func (q Quorum) ratio(n int, state string) string {
	if n > q.Min {
		return fmt.Sprintf("%d pods %s (minCount %d)", n, state, q.Min)
	}
	return fmt.Sprintf("%d of %d pods %s", n, q.Min, state)
}

// isMember reports whether the pod names this PodGroup.
func isMember(pod *core.Pod, group *scheduling.PodGroup) bool {
	g := pod.Spec.SchedulingGroup
	return g != nil && g.PodGroupName != nil && *g.PodGroupName == group.Name && pod.Namespace == group.Namespace
}
