// Package tree decides where the pods of a tree of groups go: a CompositePodGroup, the groups below
// it, and their pods (KEP-6012).
//
// A block is a part of the tree below which no group has a topology constraint of its own. Its pods
// are placed as one unit by package placement, with their claims, and completely (block.go). Groups
// with topology constraints are tried domain by domain, nested as they are in the tree: the domain
// with the least room that can hold the group comes first, so that large domains stay free for large
// groups (search.go, domains.go). If a later group finds no place, earlier ones are moved to other
// domains. If that does not succeed either, the domains of all groups are chosen first, and then all
// pods are placed together: the places of one group do not depend on which was placed first. All
// this ends when the budget of steps is spent.
//
// Children that are alike are tried in the order of the domains, and what domains hold is counted
// before anything is tried: one domain too few is found by counting.
//
// Invariants: either at least minGroupCount children of each gang of groups, each with its minCount,
// have places, or none has. All pods below a group with a topology constraint are in one domain.
// Everything is tried in a transaction of the one State, and reverted.
//
// The package never evicts a pod. With minCount reached, further pods are placed by their own
// PodGroups afterwards, if they do not fit together with the others.
package tree
