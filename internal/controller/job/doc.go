// Package job runs Jobs: it creates pods until enough of them have succeeded, counts each end exactly once, replaces failures
// after a while, and ends the Job by its limits and policies. For a Job that asks for it, it makes a Workload and a PodGroup
// that the pods join.
//
// Decided here, as functions of values: what the pods amount to (tally), what one pass does (Decide), what becomes of the
// PodGroup (NextGroupStep), how long failures wait (Backoff). The Controller gathers from the caches, decides, and writes.
//
// Invariants: no pass begins before the caches show all own writes, the Job's status included, so all counts are of one
// moment. A pod's finalizer goes only after the status has the pod, so no end is lost or counted twice, wherever a pass is cut short
// (count.go). Workload, PodGroup and pods are made in this order and go in the other. Jobs that another controller manages, and
// PodGroups that the pod template names, are left alone. The package never decides where a pod runs.
package job
