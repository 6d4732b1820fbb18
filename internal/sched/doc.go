// Package sched decides where the pods of a unit run and which devices their claims get.
//
// Placer.Place takes a unit (a gang's waiting members, the waiting pods of a basic group, or one pod)
// and returns a Plan, Reasons, or both if only some pods could be placed and that is sufficient. It
// tries on the one model.State and reverts everything before it returns: Plan.Assume applies an
// accepted plan to the State.
//
// Packages below it decide parts: nodefit whether a node fits a pod, score which of the nodes that fit
// is better, reason what is reported and what can help. Package plan is the result, and package queue
// the order in which units are tried.
//
// How a unit is placed:
//
//  1. Pods that are alike, claims included, form a class. The suitable nodes are computed once for a
//     class, then nodes are filled: nodes + pods, not nodes × pods.
//  2. A group that must be in one domain of a node label is tried in one after the other, first the
//     fullest that has room for it; the same holds for members with required affinity for each other
//     (domain.go).
//  3. Unallocated claims that several members share come first. For each, the devices and the nodes
//     from which they can be used are tried until the whole unit fits; otherwise the best attempt that
//     places enough counts (R37).
//  4. If filling places too few, or not all of a gang, and counting does not prove that no more can be
//     placed, a search with a step budget reconsiders nodes and devices of earlier members, and their
//     order where that matters. When the budget is spent the result is "undecided". Members that are
//     alike are first given devices for all of them on a node together; the most that a node has
//     devices for is part of the counting (copies.go).
//  5. The budget is spent in slices that grow, each an attempt of its own, with other units in between
//     (slice.go).
//
// Extended resources that a DeviceClass offers are counted on nodes that have them. Elsewhere a pod
// gets devices instead, through a claim that the plan creates (extended.go). Volumes limit nodes, and
// none is bound here (volume.go).
//
// Invariants: no node gets more than it has, no device goes to two claims, and at least Min members of
// a gang are placed or none. The result depends on the State alone, not on the order in which it came
// to be.
//
// Placer.Preempt decides which pods are evicted so that a unit can be placed, and evicts none that need
// not be (preempt.go).
package sched
