// Package preempt decides which pods are evicted so that a unit that was not placed can be placed
// (R36).
//
// It evicts pods of lower priority if the unit can be placed after that, and none otherwise.
// Whether it can be is tried, not calculated: the victims are removed from the State, claims
// without remaining consumers are freed, and the unit is placed as usual. All that happens within a
// transaction, so that the State is as before when Preempt returns.
//
//   - Pods that terminate already, and claims that their controller is about to free, count as
//     deleted. If that is sufficient, no pod is evicted (gather.go).
//   - A victim is a pod, or a PodGroup as a whole (victim.go). It has a lower priority than the
//     unit.
//   - Of all victims that might help, those that are not needed are reprieved, the most important
//     first (sitesearch.go): no subset of the remaining victims would be sufficient. Only when the
//     step budget is spent may there be some that another search would reprieve.
//   - The site of a preemption is one node for a pod, and one domain for some groups (sites.go).
//     The cost is estimated for all sites by counting (estimate.go); the cheapest is tried first,
//     and others as long as their estimate is lower than the cost of the best result.
//   - A claim is freed with its last consumer, and never one with a consumer that is neither a pod
//     nor a group. The claim of a PodGroup or CompositePodGroup is reclaimed by the scheduler once
//     no pod of the group is on a node (trial.go, idle.go).
//
// The package deletes nothing: its caller evicts the victims of a Result, and reserves the unit's
// nodes and devices by its Nomination.
package preempt
