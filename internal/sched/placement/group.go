package placement

import (
	"fmt"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// waitsForGroup reports whether the unit cannot be tried because of its PodGroup. The reasons then
// have the code.
func waitsForGroup(state *model.State, unit *model.Unit, r *reason.Reasons) bool {
	key := unit.Key
	if !key.Group {
		return false
	}
	if unit.Group == nil {
		r.Code = reason.GroupMissing
		return true
	}
	census := state.Groups.Census(key.Key)
	if unit.Group.Gang {
		r.Quorum = reason.Quorum{Census: census, MinCount: unit.Group.MinCount}
	}
	switch {
	case unit.Group.IsBelowQuorum(census):
		r.Code = reason.BelowQuorum
	case census.Gated > 0 && !unit.HalfBound:
		r.Code, r.Gates = reason.Gated, reason.GatedBy(state.Groups.Members(key.Key))
	default:
		return false
	}
	return true
}

// fixDomain finds the domain of the members that are already bound. It reports whether they have
// one, and sets the conflict if they do not.
func fixDomain(state *model.State, unit *model.Unit, topology *reason.Topology) bool {
	for _, pod := range state.Groups.Members(unit.Key.Key) {
		if !pod.Counts() || pod.Deleting {
			continue
		}
		value, ok := domainOf(state, pod, topology.Label)
		switch {
		case !ok:
			topology.Conflict = fmt.Sprintf("pod %s of the group is on node %s, which has no label %s",
				pod.Key.Name, pod.Node, topology.Label)
			return false
		case topology.Fixed != "" && topology.Fixed != value:
			topology.Conflict = fmt.Sprintf("pods of the group are in more than one domain of %s: %s and %s",
				topology.Label, topology.Fixed, value)
			return false
		}
		topology.Fixed = value
	}
	return true
}

// domainOf returns the value of a label of the pod's node.
func domainOf(state *model.State, pod *model.Pod, key string) (string, bool) {
	info, ok := state.Nodes.Get(pod.Node)
	if !ok {
		return "", false
	}
	value, ok := info.Node.Labels[key]
	return value, ok
}
