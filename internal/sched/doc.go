// Package sched decides where the pods of a unit run and which devices their claims get.
//
// Placer.Place takes a unit (a gang's waiting members, the waiting pods of a basic group, or one pod) and answers
// with a Plan, Reasons, or, when only some pods had to and could be placed, both. It tries on the one model.State and
// takes everything back before it returns: Plan.Assume lays an accepted plan over the State.
//
// How a unit is placed:
//
//  1. Pods that are alike, claims included, form a class. Which nodes suit a class is worked out once, then nodes are
//     filled: nodes + pods, not nodes × pods. Package nodefit decides whether a node fits, package score which one is
//     better; the latter keeps rankings for the next unit where only changed nodes need another look.
//  2. A group that has to be in one domain of a node label is tried in one after the other, the fullest first that has
//     room for it; and so are members that required affinity keeps together (domain.go).
//  3. Unallocated claims that several members share come first. For each, the devices and the nodes that they open
//     are tried until the whole unit fits around them; failing that, the best that places enough (R37).
//  4. If filling places too few, or of a gang not all, and counting does not prove that no more can be placed, a search
//     with a step budget reconsiders nodes and devices of earlier members, and their order where that matters. With
//     the budget spent the answer is "undecided".
//     Members that are alike are first given devices for all of them on a node together; the most that a node has devices
//     for is part of the counting (copies.go).
//  5. The budget is spent in slices that grow, each an attempt of its own, with other units in between (slice.go).
//
// Extended resources that a DeviceClass offers are counted on nodes that have them. Elsewhere a pod gets devices in their
// place, through a claim that the plan makes (extended.go).
//
// Volumes limit nodes, nodes the number of volumes, and none is bound here (volume.go).
//
// Invariants: no node gets more than it has, no device goes to two claims, of a gang at least Min members are placed
// or none. The answer depends on the State alone, not on the order in which it came to be.
//
// Placer.Preempt finds out who has to leave so that a unit can be placed, and nobody who need not (preempt.go).
//
// Queue keeps units in the order in which they are to be tried, and parks those that could not be placed until
// something happens that could change the answer.
package sched
