// Package poolstatus writes the status of ResourcePoolStatusRequests (KEP-5677): how many devices
// the pools of a driver have, which of them are allocated, and how many can still be allocated.
//
// # What it decides
//
// The status of a request, from slices, claims and taint rules, by the same rules as allocation: it
// builds a State of its own, and alloc returns what a pool has in stock. For each pool:
//
//   - allocated are the published devices that a claim holds, other than with admin access;
//   - unavailable are the devices that no claim holds and that cannot be allocated: tainted
//     (NoSchedule, NoExecute), or without the counters they need;
//   - available are all others. Each can be allocated, but possibly not all together;
//   - allocatable in a partitionSummary are the devices of one type that can be allocated together.
//
// The time at which requests are deleted: an hour after their status was written, or a day after
// their creation.
//
// # Invariants
//
//   - The status of a request is written once, and never changed.
//   - total = allocated + unavailable + available, in each pool.
//   - An incomplete pool has Options.Patience, from the creation of the request, to become
//     complete. Then the status reports that it is incomplete.
//
// # What it never does
//
// It keeps nothing between requests, and does not read nodes.
package poolstatus
