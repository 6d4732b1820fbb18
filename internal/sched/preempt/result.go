package preempt

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// Result is a set of victims with which a unit can be placed.
type Result struct {
	Unit     model.UnitKey
	Priority int32
	Plan     *plan.Plan // where the unit is placed then
	// Victims are evicted, the least important first. Without any, the unit waits for pods that
	// terminate already.
	Victims []Victim
	// Reclaims are claims of groups that are reclaimed, once no pod on a node uses them.
	Reclaims []Reclaim
	// Violations is the number of victims that a PodDisruptionBudget protects.
	Violations int
	// Until is when the last of the terminating pods should be deleted; zero if there are none.
	Until time.Time
}

// Victim is a pod or several pods to evict, or all pods of a group.
type Victim struct {
	Whole    *model.Group // the PodGroup, if it is evicted as a whole
	Tree     *model.Tree  // the CompositePodGroup, if it is evicted as a whole
	Priority int32
	Pods     []*model.Pod // by name
}

// Reclaim is a claim that loses its devices and all its consumers.
type Reclaim struct {
	Claim     model.Key
	UID       types.UID
	Consumers []model.Consumer
}

// Groups returns the PodGroups that are evicted as a whole.
func (r *Result) Groups() []*model.Group {
	var groups []*model.Group
	for i := range r.Victims {
		switch v := &r.Victims[i]; {
		case v.Whole != nil:
			groups = append(groups, v.Whole)
		case v.Tree != nil:
			groups = append(groups, v.Tree.Groups()...)
		}
	}
	return groups
}

// Pods returns the number of pods that are evicted.
func (r *Result) Pods() int {
	n := 0
	for i := range r.Victims {
		n += len(r.Victims[i].Pods)
	}
	return n
}
