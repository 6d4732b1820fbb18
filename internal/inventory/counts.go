package inventory

import (
	"iter"
	"time"

	"github.com/allot-dev/allot/internal/model"
)

// Counts is how much there is of everything that the scheduler knows, at one moment.
type Counts struct {
	Pools   []PoolCount
	Classes []ClassCount
	Claims  map[ClaimState]int
	// Pods has the number of pods without a node by queue, for every queue.
	Pods map[PodQueue]int
	// Gangs has the number of PodGroups and trees of groups with pods without a node.
	Gangs map[GangWait]int
	// Oldest is the age of the oldest gang that waits, by reason.
	Oldest map[string]time.Duration
	// Undecided is the number of units whose search ended at its limit.
	Undecided int
}

// ClaimState is a state of ResourceClaims.
type ClaimState string

// A claim is in the first state that applies.
const (
	ClaimDeleting  ClaimState = "deleting"
	ClaimPending   ClaimState = "pending"   // not allocated
	ClaimAllocated ClaimState = "allocated" // and nothing uses it
	ClaimInUse     ClaimState = "in_use"    // allocated, with consumers
)

// ClaimStates counts claims by state. Every state has a number.
func ClaimStates(claims iter.Seq[*model.Claim]) map[ClaimState]int {
	counts := map[ClaimState]int{ClaimDeleting: 0, ClaimPending: 0, ClaimAllocated: 0, ClaimInUse: 0}
	for claim := range claims {
		counts[claimState(claim)]++
	}
	return counts
}

func claimState(claim *model.Claim) ClaimState {
	switch {
	case claim.Deleting:
		return ClaimDeleting
	case claim.Allocation == nil:
		return ClaimPending
	case len(claim.Consumers) == 0:
		return ClaimAllocated
	}
	return ClaimInUse
}

// PodQueue is a part of the scheduling queue, named as in kube-scheduler.
type PodQueue string

// A pod without a node is in one of these.
const (
	Active        PodQueue = "active"        // to be tried
	Backoff       PodQueue = "backoff"       // to be tried again after a pause
	Unschedulable PodQueue = "unschedulable" // until something changes that may help
	GatedPods     PodQueue = "gated"         // never tried, because of scheduling gates or too few members
	Incomplete    PodQueue = "incomplete"    // its PodGroup does not exist
	Pending       PodQueue = "pending"       // its unit is being written, or waits for victims
)

// PodQueues returns all queues.
func PodQueues() []PodQueue {
	return []PodQueue{Active, Backoff, Unschedulable, GatedPods, Incomplete, Pending}
}

// GangWait is why a gang waits and since when.
type GangWait struct {
	Reason string // see reason.Causes; or Queued, Binding, Preempting or Retrying
	Age    string // one of Ages
}

// ageLimits are the upper limits of all Ages but the last.
var ageLimits = []struct {
	age   string
	limit time.Duration
}{
	{"below_1m", time.Minute}, {"below_10m", 10 * time.Minute}, {"below_1h", time.Hour}, {"below_1d", 24 * time.Hour},
}

const oldest = "above_1d"

// AgeOf returns the age of a gang as the value of a label.
func AgeOf(age time.Duration) string {
	for i := range ageLimits {
		if age < ageLimits[i].limit {
			return ageLimits[i].age
		}
	}
	return oldest
}
