package reason

import "fmt"

// PreemptionResult is the result of preemption for a unit.
type PreemptionResult struct {
	Never     bool // the unit's preemptionPolicy
	Pods      int  // number of pods of lower priority, which would not be enough
	Undecided bool // the search limit was reached
	// Leaving are pods that are evicted. Waits is also set if none has to be, but some are about to
	// terminate.
	Leaving int
	Waits   bool
}

func (p *PreemptionResult) String() string {
	switch {
	case p.Never:
		return "preemption: not eligible due to preemptionPolicy=Never"
	case p.Leaving > 0:
		return fmt.Sprintf("preemption: waiting for %d lower-priority pod(s) to terminate", p.Leaving)
	case p.Waits:
		return "preemption: not needed, waiting for terminating pods"
	case p.Undecided:
		return fmt.Sprintf("preemption: search limit reached before it was known "+
			"whether evicting %d lower-priority pod(s) helps", p.Pods)
	}
	if p.Pods == 1 {
		return "preemption: evicting the only lower-priority pod would not help"
	}
	return fmt.Sprintf("preemption: evicting all %d lower-priority pods would not help", p.Pods)
}
