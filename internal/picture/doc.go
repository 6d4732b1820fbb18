// Package picture has what the live page shows of a cluster, as values: nodes with their devices,
// PodGroups and pods with why they wait, claims with what uses them, and what happened in the last
// minutes.
//
// A Painter turns a snapshot.World into a Picture. Whether a device is published, tainted or in use
// is read from the State of the World, so that the page agrees with explain and with the scheduler.
// Why something waits is the message in its condition; explain computes the whole answer for one
// object. Since returns the Difference between two Pictures, which is what a page is sent.
//
// Invariants: the same World and the same Picture before give the same Picture. A Picture is never
// changed; what is equal in the Picture before is shared with it. A Picture, changed by its
// Difference from another, is that other one.
//
// The package decides nothing about placement, and does no I/O.
package picture
