// Package scheduler is the loop around the pure core. It owns the live model.State.
//
// Each step applies to the State what the API shows (package cluster), wakes the units that this
// may help, takes the first unit of the queue, has package sched place it, assumes the plan and
// passes it to package commit. That writes concurrently, and its result comes back as a message. A
// unit that cannot be placed is parked with its reasons, which are reported for the group and its
// pods, and is tried again after a change that the reasons name.
//
// The parts are:
//
//   - loop has the State, and runs writes concurrently and messages on the loop's goroutine. All
//     parts but the writers of status belong to this goroutine. Others reach it by messages through
//     the Feed.
//   - unitQueue decides when a unit is tried: queue, holds, pauses after refused plans, undecided
//     units.
//   - Scheduler places units and writes, withdraws and rolls back plans.
//   - pendingBinds has the plans whose binds wait for binding conditions.
//   - evictionTracker has the evictions in progress, and evictions writes them.
//   - deletedClaims frees the devices of claims that are being deleted.
//   - quarantine has the devices that are not allocated for a while.
//   - repairer gives pods on a node the devices that their claims have lost.
//   - reporter composes conditions and events; groupStatus and podStatus write them, on goroutines
//     of their own.
//
// Invariants:
//
//   - A unit whose plan failed is held for a pause that grows, whatever changes meanwhile.
//   - A gang that was never placed as a whole has one plan at a time, and its members keep their
//     assumed places while their binds are tried again, so that no other unit keeps it half-bound.
//   - No pod is bound before the devices and reservations of its claims are in the API.
//   - A half-bound gang comes first, and is rolled back as a whole when it cannot be completed
//     (R50, docs/adr/0001). On allot's own server there are none (docs/adr/0009). Pods that another
//     scheduler has bound are not rolled back.
//   - A unit that cannot be placed and runs nothing keeps no devices (F10), nor does a group that
//     has never run and has no pods. A group that has run keeps them while it merely lacks pods
//     (F09). A pod's claim is freed in favour of other nodes only if no other pod uses it (R17). A
//     claim that is being deleted is freed when no consumer with a node holds it.
//   - A reason is reported once each time it changes.
//
// Devices with bindingConditions are attached after their allocation: the plan's claims are
// written, and its binds wait until all conditions are True. A failure condition, the timeout, or
// the loss of a member that the gang needs withdraws the plan. The device is in quarantine then,
// and another is tried (R27, F70).
//
// For a unit that cannot be placed, pods of lower priority are evicted if it can be placed then
// (R36; package sched selects them). All victims get the condition DisruptionTarget before any is
// deleted, so that the next scheduler can complete an eviction after a crash. The unit is not tried
// before all victims are seen to terminate, and stays nominated until it is placed. A claim that a
// group holds is reclaimed once no pod of the group is left (docs/adr/0005).
//
// Other schedulers may allocate devices too: the API server does not let two claims have one device
// (docs/adr/0004), and the later plan is refused (F64).
package scheduler
