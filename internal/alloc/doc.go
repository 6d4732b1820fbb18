// Package alloc decides which devices claims get on a node.
//
// Prepare turns claims into a Problem: what each request asks for, independent of any node. Problem.On lays out what a
// node offers (a Board) or says why that is not enough; Board.Search enumerates allocations, best first, until the
// caller accepts one. Nothing is changed: the caller lays an accepted allocation over the model.State.
//
// A search decides in this order: which alternative serves each firstAvailable request, earlier ones first; which value
// of its attribute each matchAttribute constraint settles on, the smallest group of devices that suffices first; and
// then one device after the other.
//
// How it stays fast:
//
//   - A selector is evaluated once for all devices, of whatever pool, that are equal in what it reads, and kept as a bit
//     set for each pool. Pools of one size of which all devices match, or none, have the set in common.
//   - Devices that nothing in the Problem can tell apart form one part of their pool, which is kept for Problems that ask
//     for the same. What is free of a part is a cell; a search takes the first of a cell, never one after the other.
//     Requests that ask for the same are given cells in rising order.
//   - After each decision, a flow between what requests need and what cells have refutes what counts alone can refute
//     ("11 wanted, 10 match"), without trying orders. An undecided request counts with the least of its alternatives
//     and the devices of all; a distinctAttribute needs a value for each device.
//   - For each counter set, what is left bounds how many partitions can be had: as many of the smallest as fit. Weighings
//     of counters bound what requests for different sizes can have together (demand.go).
//   - To find out whether there is any solution, alike claims and alike values are tried in one order (symmetry.go), parts
//     that do not compete are solved each by itself (separate.go), and what was in vain is remembered.
//   - A search spends steps of a Budget, never seconds. With none left the answer is "undecided", not "no".
//
// Where counting is not exact (alternatives, constraints, counters), On looks for a first solution itself, within a budget that
// the boards of a Problem share: that a Board exists does not prove then that there is a solution, but nearly always.
//
// Which device is best: one that nothing has to be done for first; then one of this node alone; then one of the fullest
// pool; then the smallest partition; then one that serves the fewest requests; then the first as published.
//
// Invariants: a device is in at most one claim of an allocation, and not held by another claim, unless access is
// administrative; it is at most once in a claim. It can be used from the node, matches all selectors of class and
// request, and its taints, and those of rules, are tolerated; devices that take from one counter set have a compatibility
// group in common. "All" is every device that matches, of pools that are whole. The same input gives the same answers in
// the same order.
//
// A device that allows multiple allocations is had in parts, each with an ID of its own; a request has one part of a
// device at most, and counters are paid with the first part. With admin access, a part takes nothing from the others.
//
// A Stock says by the same rules what a pool has to give, whoever asks: for people who plan, not for placement.
//
// What a request or device asks for and this package does not know is refused by name, never ignored.
package alloc
