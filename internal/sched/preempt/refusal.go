package preempt

import (
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/placement"
)

// refusals are the pods for which preemption did not help, by shape. Of a thousand identical pods
// that are tried one after the other, only the first one is costly.
type refusals map[string]refusal

// refusal records that preemption did not help a pod, at certain versions of the State.
type refusal struct {
	nodes, occupied uint64
	priority        int32
	pods            int // number of pods of lower priority
}

// find reports whether preemption did not help an identical pod with the same priority, and nothing
// has changed since. It returns how many pods had a lower priority.
func (r refusals) find(state *model.State, unit *model.Unit) (pods int, known bool) {
	if !isPlain(state, unit) {
		return 0, false
	}
	last, known := r[unit.Pods[0].Shape.ID]
	known = known && last.nodes == state.Nodes.Version() && last.occupied == state.Pods.Occupied() &&
		last.priority == unit.Priority
	return last.pods, known
}

func (r refusals) add(state *model.State, unit *model.Unit, pods int) {
	if !isPlain(state, unit) {
		return
	}
	if len(r) >= nodefit.MaxShapes {
		clear(r)
	}
	r[unit.Pods[0].Shape.ID] = refusal{
		nodes: state.Nodes.Version(), occupied: state.Pods.Occupied(), priority: unit.Priority, pods: pods,
	}
}

// isPlain reports whether a unit is one pod without a group of which only the shape matters,
// without the labels.
func isPlain(state *model.State, unit *model.Unit) bool {
	return unit.Pods[0].Group == "" && onlyShapeMatters(state, unit)
}

// onlyShapeMatters reports whether a unit is one pod of which only the shape matters to preemption.
func onlyShapeMatters(state *model.State, unit *model.Unit) bool {
	pod := unit.Pods[0]
	return len(unit.Pods) == 1 && len(pod.Mounts) == 0 && !state.Terms.Any() && !placement.UsesClaims(state, pod)
}
