// Package disruption counts, for each PodDisruptionBudget, how many of its pods are healthy, how
// many must be, and therefore how many may be evicted now. The API server decides about evictions
// by these counts.
//
// It decides how many pods are expected and how many must be healthy (Wanted), the status (Count),
// and when the condition DisruptionTarget of an eviction that did not happen is reset (StaleMark).
// These are pure functions. The Controller reads pods and the scales of their owners, decides, and
// writes.
//
// Invariants: a pod with a granted eviction counts as terminated until it is deleted or two minutes
// have passed; when the counts are unknown, no eviction is permitted. The package never deletes a
// pod.
package disruption
