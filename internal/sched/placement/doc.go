// Package placement decides on which nodes the pods of a unit run and which devices their claims
// get.
//
// A Placement is one attempt to place a unit. It tries on the one model.State, within a
// transaction, and reverts everything before it returns a Plan or Reasons. It consists of
//
//   - the input: the unit, its pods in classes, and the claims that they share (input.go,
//     class.go; gather.go and prepare.go find it);
//   - the trial: the transaction, what it has placed, and how that is reverted (trial.go,
//     assign.go);
//   - the search: the budget, the best result, and the order in which things are tried (search.go,
//     run.go).
//
// How a unit is placed:
//
//  1. Pods that are alike, claims included, form a class. The suitable nodes are computed once for
//     a class, then nodes are filled: nodes + pods, not nodes × pods (fill.go).
//  2. A group that must be in one domain of a node label is tried in one after the other, first the
//     fullest that holds it; the same holds for members with required affinity for each other
//     (domain.go, affinity.go).
//  3. Unallocated claims that several members share come first. For each, the devices and the nodes
//     from which they can be used are tried until the whole unit fits; otherwise the best attempt
//     that places enough counts (R37, sharedallocation.go).
//  4. If filling places too few, or not all of a gang, and counting does not prove that no more can
//     be placed (capacity.go), a search with a step budget backtracks over nodes and devices of
//     earlier members, and their order where that matters (backtrack.go). When the budget is spent
//     the result is "undecided". Members that are alike are first given devices for all of them on
//     a node together (filltogether.go); the most that a node has devices for is part of the
//     counting (copies.go). With members of several classes, how many of each are on each node is
//     decided before devices are (mix.go).
//
// Extended resources that a DeviceClass offers are counted on nodes that have them. On other nodes
// a pod gets devices, through a claim that the plan creates (claimform.go). Volumes limit nodes,
// and none is bound here (volumeblocker.go).
//
// Invariants: no node gets more than it has, no device goes to two claims, and at least Min members
// of a gang are placed or none. The result depends on the State alone, not on the order in which it
// came to be.
//
// The package never evicts a pod, and never decides which unit is placed next.
package placement
