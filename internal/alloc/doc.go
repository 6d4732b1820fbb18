// Package alloc decides which devices claims get on a node.
//
// Prepare turns claims into a Problem: their requests, independent of any node. Problem.NodeOffer
// returns the devices that a node can offer, or the reason why they are not sufficient.
// NodeOffer.Search enumerates allocations, best first, until the caller accepts one. Nothing is
// changed: the caller applies an accepted allocation to the model.State.
//
// A search decides in this order: the alternative for each firstAvailable request, earlier ones
// first; the value for each matchAttribute constraint, the smallest sufficient group of devices
// first; and then one device after the other.
//
// How it stays fast:
//
//   - A selector is evaluated once for all devices, in any pool, that are equal in the fields it
//     reads. The result is a bit set per pool. Pools of one size of which all devices match, or
//     none, share the bit set.
//   - Devices that the Problem cannot distinguish form one kind within their pool; kinds are cached
//     for Problems with the same requirements. The free devices of a kind are a cell; a search uses
//     the first device of a cell and never tries the others. Equal requests use cells in ascending
//     order.
//   - After each decision, a maximum flow between requests and cells rejects what counting alone
//     can reject ("11 wanted, 10 match"). A request without a chosen alternative counts with the
//     smallest of its alternatives and the devices of all. A distinctAttribute needs one value per
//     device.
//   - For each counter set, the remaining amounts limit the number of partitions: as many of the
//     smallest as fit. Sums of counters limit requests for different sizes (countersum.go).
//   - To find out whether any solution exists, equal claims and equivalent values are tried in one
//     order (symmetry.go), requests that do not compete are solved separately (competition.go), and
//     dead ends are remembered.
//   - A search spends steps of a Budget, never time. When the budget is spent, the answer is
//     "undecided", not "no".
//
// Where counting is not exact (alternatives, constraints, counters), Problem.NodeOffer searches for
// a first solution itself, within a budget that all offers of the Problem share. An offer is
// therefore no proof that a solution exists, but there nearly always is one.
//
// Which device is best, in order: a device without binding conditions; a device local to the node;
// a device of the fullest pool; the smallest partition; a device that the fewest requests match;
// the first one published.
//
// Invariants: a device is allocated to at most one claim, except for admin access, and at most once
// to a claim. The node can reach it, it matches all selectors of the class and the request, and its
// taints, including those of DeviceTaintRules, are tolerated. Devices that take from one counter
// set have a compatibility group in common. allocationMode All means every matching device of
// complete pools. The same input gives the same results in the same order.
//
// A device that allows multiple allocations is allocated in shares, each with its own share ID. A
// request gets at most one share of a device, and only the first share takes from counters. With
// admin access, a share consumes nothing from the others.
//
// A PoolSummary applies the same rules to what a pool can still allocate, independent of requests.
// It is for capacity planning, not for placement.
//
// A field of a request or device that this package does not know is rejected by name, never
// ignored.
package alloc
