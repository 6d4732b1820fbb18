// Package deployment moves the pods of a Deployment to its current template by
// resizing ReplicaSets, one for each template it had.
//
// Decide is the whole decision, a function of the Deployment, its ReplicaSets and the
// time: which ReplicaSet to create, how to resize the others, which to remove from the
// history, and the status with its conditions. The Controller gathers, calls it, and
// writes: ReplicaSets first, then the status, once.
//
// Invariants, for RollingUpdate: after every step there are at most replicas +
// maxSurge pods asked for, and at least replicas − maxUnavailable available ones stay
// untouched; for Recreate: no new pod is asked for while an old one may run. The name of
// a new ReplicaSet follows from the template, so that a lagging cache never makes two.
// The package never creates or deletes a pod.
package deployment
