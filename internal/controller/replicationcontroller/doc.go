// Package replicationcontroller keeps the number of pods that a ReplicationController requests.
//
// It decides nothing: a ReplicationController is seen as a ReplicaSet with the same pods, and
// package replicaset decides and writes the pods. Events and statuses are about the
// ReplicationController.
//
// Invariant: the conversion of a status and back loses only terminatingReplicas, which a
// ReplicationController does not have. The package never writes the spec.
package replicationcontroller
