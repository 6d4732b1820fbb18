// Package scheduler is the loop around the pure core: it alone owns the live model.State.
//
// Round by round it lays what the API shows over the State (package cluster), wakes the units
// that this may help, takes the first unit of the queue, lets package sched place it, assumes
// the plan and hands it to package commit, which writes beside the loop and reports back as one
// more thing that happened (DESIGN.md D4). A unit that cannot be placed is parked with its
// reasons, which are told to the group and its pods, and is tried again when something changes
// that the reasons name.
//
// A gang that was left half-bound comes first, and is rolled back whole when it cannot be
// finished (SPEC R50, docs/adr/0001).
package scheduler
