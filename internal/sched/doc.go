// Package sched decides where the pods of a unit run, and which pods are evicted for that.
//
// Placer.Place takes a unit (a gang's waiting members, the waiting pods of a basic group or of a
// tree of groups, or one pod) and returns a Plan, Reasons, or both if only some pods could be placed
// and that is sufficient. It tries on the one model.State and reverts everything before it returns:
// Plan.Assume applies an accepted plan to the State. Placer.Preempt decides which pods are evicted
// so that a unit that was not placed can be.
//
// The decisions are made by the packages below it, from the bottom up:
//
//   - nodefit: whether a node fits a pod;
//   - score: which of the nodes that fit are better;
//   - reason: what is reported, and what can help;
//   - plan: the result, what must be written;
//   - placement: where the pods of a unit run and which devices their claims get;
//   - tree: where a tree of groups runs, by placing its parts;
//   - preempt: which pods are evicted;
//   - queue: the order in which units are tried.
//
// The package itself has what is remembered between placements: caches, what the expressions of a
// unit have cost (unitcost.go), and the budgets. The budget of a unit is spent in slices that grow,
// each an attempt of its own, with other units in between (slice.go).
package sched
