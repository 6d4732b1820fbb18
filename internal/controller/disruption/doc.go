// Package disruption counts for each PodDisruptionBudget how many of its pods are healthy, how many have to be, and so how
// many may be evicted at the moment. Evictions themselves are decided by the API server, by these counts.
//
// Decided here: how many pods are expected and how many have to be healthy (Wanted), what the status says (Count), and
// when the mark of an eviction that never came is taken back (StaleMark); these are functions of values. The Controller
// gathers pods and the scales of their owners, decides, and writes.
//
// Invariants: a pod whose eviction has been granted counts as gone, until it is gone or two minutes have passed; where the
// counts cannot be known, nothing may be evicted. The package never deletes a pod.
package disruption
