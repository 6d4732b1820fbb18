// Package deployment updates the pods of a Deployment to its current template by resizing
// ReplicaSets, one for each template.
//
// Decide is the complete decision, a function of the Deployment, its ReplicaSets and the time:
// which ReplicaSet to create, how to resize the others, which to remove from the history, and the
// status with its conditions. The Controller gathers, calls it, and writes: ReplicaSets first, then
// the status, once.
//
// Invariants for RollingUpdate: after every step, at most replicas + maxSurge pods are requested,
// and at least replicas − maxUnavailable available pods are not touched. For Recreate: no new pod
// is requested while an old one may run. The name of a new ReplicaSet is derived from the template,
// so that a delayed cache never causes two. The package does not create or delete pods.
package deployment
