// Package score decides which of the nodes that fit a pod are better.
//
// The preferences are a table (preference.go), in levels: what the author of the pod prefers comes
// before the packing of devices, that before default spread, and that before the load of nodes. A
// preference declares what its score depends on. From that follows whether the ranking of the nodes
// can be kept for the next unit with pods of the shape, and under which key (cache.go): with
// thousands of nodes and units of a few pods, nearly all the work is to look at nodes that have not
// changed.
//
// A Ranking returns candidates best first and compares no more of them than are used (ranking.go).
//
// Invariants: equal candidates are ordered by name; a ranking that was kept is the one that would
// be made.
//
// It does not decide whether a node fits: the caller examines nodes (Examiner).
package score
