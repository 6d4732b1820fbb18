// Package nodetaint evicts pods from nodes with a NoExecute taint that they do not tolerate.
//
// # What it decides
//
// The time at which a pod is deleted. A taint without a matching toleration evicts immediately. A
// toleration with tolerationSeconds ends that time after the taint was added, or after the pod was
// scheduled if that was later. Of several tolerations for a taint, the first counts. A taint
// without timeAdded counts from the time at which it was first seen.
//
// # Invariants
//
//   - An eviction is cancelled by the removal of the taint or by a new toleration: each pass
//     decides again.
//
// # What it never does
//
// It does not taint nodes. Package eviction deletes the pods, finished ones too, as in Kubernetes.
package nodetaint
