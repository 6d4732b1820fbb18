// Package alloc decides which devices claims get on a node.
//
// Prepare turns claims into a Problem: what each request asks for, independent of any node. Problem.On lays out what a
// node offers (a Board) or says why that is not enough; Board.Search enumerates allocations, best first, until the
// caller accepts one. Nothing is changed: the caller lays an accepted allocation over the model.State.
//
// How it stays fast (DESIGN D2):
//
//   - A selector is evaluated once per device set and kept as a bit set.
//   - Devices that nothing in the Problem can tell apart form one cell; a search takes the first of a cell, never
//     one after the other. Requests that ask for the same are given cells in rising order.
//   - Before and during the search, a flow between what requests need and what cells have refutes what counts alone
//     can refute ("11 wanted, 10 match"), without trying orders.
//   - A search spends steps of a Budget, never seconds. With none left the answer is "undecided", not "no".
//
// Invariants: a device is in at most one claim of an allocation, is not held by another claim, can be used from the
// node, and matches all selectors of class and request. The same input gives the same answers in the same order.
//
// What a request or device asks for and this package does not know is refused by name, never ignored.
package alloc
