// Package forecast computes what would happen on a cluster if objects were applied or deleted,
// nodes were drained or added, or devices were tainted: which pods would be placed where with which
// devices, which pods would be evicted, and what would wait and why.
//
// A Forecaster works on a snapshot.Snapshot. It runs the pure cores of the controllers, of claim
// generation and of the scheduler on a snapshot.World until nothing changes any more, and returns
// the difference to the Snapshot as a Plan: a value with a versioned form, and a text of 80
// columns.
//
// The forecast is the state that a cluster reaches when everything has had its time: pods that
// terminate have terminated, pods that are placed run and are ready, back-offs and minReadySeconds
// are over. Pods do not finish, and deadlines do not pass.
//
// Invariants: the same Snapshot and the same Changes give the same Plan. The Snapshot is not
// changed. Nothing is read but the Snapshot; the time is that of the Snapshot.
//
// The package decides nothing about placement, and does no I/O.
package forecast
