// Package podgc removes pods that no node will ever report on again: pods of nodes that
// do not exist any more, pods that are being deleted before they got a node, and pods that
// are being deleted on a node that is declared out of service.
//
// Decide says what becomes of one pod. The Controller waits for the quarantine of missing
// nodes, asks the server whether they are really gone, marks pods as Failed and deletes
// them without grace.
//
// Invariants: a pod of a missing node that is not being deleted is touched only when the
// node has been missing for the whole quarantine and the server confirms it. Nothing is
// written while all nodes are there. Finished pods are left alone as long as their node
// exists.
package podgc
