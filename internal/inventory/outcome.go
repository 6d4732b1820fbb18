package inventory

import "time"

// Outcome is the end of an attempt.
type Outcome struct {
	Profile string // the name of the scheduler
	Unit    string // "pod" or "gang"
	Result  Result
	Pods    int
	Took    time.Duration // placing, and writing if there was something to write
	// Waited is the time since the first attempt at the pods, and Attempts their number, if the pods
	// are bound.
	Waited   time.Duration
	Attempts int
}

// Result is the result of an attempt, in the words of kube-scheduler.
type Result string

// The waiting result is of gangs alone: they wait for victims.
const (
	Scheduled           Result = "scheduled"
	NotFitting          Result = "unschedulable"
	Failed              Result = "error"
	WaitingOnPreemption Result = "waiting_on_preemption"
)
