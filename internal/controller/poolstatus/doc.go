// Package poolstatus answers ResourcePoolStatusRequests (KEP-5677): how many devices the pools of a driver have, who has
// them, and what can still be had.
//
// # What it decides
//
// The answer to a request, from slices, claims and taint rules, by the same rules by which devices are given out: it lays
// them over a State of its own, and asks alloc what a pool has in stock. Of each pool:
//
//   - allocated are the published devices that a claim has, other than by admin access;
//   - unavailable are those that nobody has and that cannot be had: tainted (NoSchedule, NoExecute), or kept from being
//     given out by what others have taken from the same counters;
//   - available is the rest, each of them by itself: together they may be more than the counters bear;
//   - allocatable in a partitionSummary are those of one type that can be had beside each other.
//
// When requests are deleted: an hour after the answer, or a day after their creation.
//
// # Invariants
//
//   - A request is answered once, and never changed then.
//   - total = allocated + unavailable + available, in each pool.
//   - A pool that is not complete has Options.Patience, from the request's creation, to become so; then the answer says
//     that it is not.
//
// # What it never does
//
// It keeps nothing between requests, and looks at no nodes.
package poolstatus
