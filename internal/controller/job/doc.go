// Package job runs Jobs: it creates pods until enough of them have succeeded, counts each end
// exactly once, replaces failed pods after a delay, and ends the Job by its limits and policies.
// For a Job with spec.scheduling, it creates a Workload and a PodGroup that the pods join.
//
// Decisions are functions of values: the counts of pods (tally), the writes of one pass (Decide),
// the changes of the PodGroup (NextGroupStep), the delays after failures (Backoff). The Controller
// gathers from the caches, decides, and writes.
//
// Invariants: no pass starts before the caches show all own writes, including the status of the
// Job, so that all counts refer to the same state. The finalizer of a pod is removed only after the
// pod is recorded in the status, so that no end is lost or counted twice, wherever a pass is
// interrupted (count.go). Workload, PodGroup and pods are created in this order and deleted in
// reverse order. Jobs managed by another controller, and PodGroups named by the pod template, are
// not changed. The package does not decide where a pod runs.
package job
