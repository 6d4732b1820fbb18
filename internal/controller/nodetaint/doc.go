// Package nodetaint evicts the pods that are on a node with a NoExecute taint that they do not tolerate.
//
// # What it decides
//
// When the time of a pod is over. A taint that no toleration of the pod is for ends it at once; one that is tolerated for
// some seconds ends it so long after the taint was added, or after the pod was scheduled if that came later. Of several
// tolerations for a taint, the first counts. A taint that does not say when it was added counts from when it was first seen.
//
// # Invariants
//
//   - What is called off, by the taint's end or by a new toleration, is forgotten: each look decides anew.
//
// # What it never does
//
// It taints no nodes, and leaves pods that have ended alone. How pods are deleted is package eviction's.
package nodetaint
