// Package explain explains why a pod, PodGroup, Job, claim, device or node is as it is: for what
// waits, what is missing, how much of it, what holds it and what would help; for what runs, why
// there.
//
// An Explainer works on a snapshot.Snapshot. The decision is made again by sched.Placer on the
// State of the snapshot, never guessed from messages, so that the answer holds for pods of any
// scheduler as far as that decides as kube-scheduler does. What the Placer found is turned into a
// Report: a value with a versioned form, and a text of 80 columns.
//
// Invariants: the same snapshot gives the same Report. Nothing is read but the snapshot; the time
// is that of the snapshot. A Report names what is not known.
//
// The package decides nothing about placement, and does no I/O.
package explain
