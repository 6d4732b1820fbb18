// Package reason has the reasons why pods of a unit were not placed, and their texts.
//
// Reasons are data: what was wanted, at which check how many nodes failed, the node that was
// closest, the holder of what is missing. Conditions, events and commands print the same value at
// different lengths. The texts begin with the words of kube-scheduler, which people and tools know;
// what allot adds follows them.
//
// Reasons also know which changes can help the unit (Topics, Helps), so that it is not tried again
// before.
//
// Invariants: a short text contains nothing of other namespaces; equal reasons have equal texts.
//
// It does not decide whether a pod can be placed.
package reason
