// Package scheduler is the loop around the pure core: it alone owns the live model.State.
//
// Round by round it lays what the API shows over the State (package cluster), wakes the units
// that this may help, takes the first unit of the queue, lets package sched place it, assumes
// the plan and hands it to package commit, which writes beside the loop and reports back as one
// more thing that happened. A unit that cannot be placed is parked with its
// reasons, which are told to the group and its pods, and is tried again when something changes
// that the reasons name.
//
// Invariants:
//
//   - Nothing but messages, through the Feed, comes from other goroutines; all else is the loop's.
//   - A unit whose plan failed is held for a pause that grows, whatever happens meanwhile.
//   - A gang that was never whole has one plan at a time, and what is left of it keeps its room
//     while its binds are tried again: nobody who competes for the room can keep it half-bound.
//   - No pod is bound before its claims' devices and reservations are in the API.
//   - A gang that was left half-bound comes first, and is rolled back whole when it cannot be
//     finished (R50, docs/adr/0001). Pods that another scheduler has bound are not rolled back.
//   - A unit that cannot be placed and runs nothing keeps no devices (F10), nor does a group that has never run and has
//     no pods. A group that has run keeps them while it merely lacks pods (F09). A pod's claim is freed in favour of other
//     nodes only if nobody but the pod has to do with it (R17). One that is deleted is freed when nobody who has a node
//     holds it.
//   - Who is told why it waits is told once per change of the reason.
//
// Devices that have bindingConditions are attached after their allocation: the plan's claims are written, and its
// binds wait in the loop until all conditions are True. A failure condition, the timeout, or the loss of a member that
// the gang needs takes the plan back; the device is not given out for a while then, and another is tried (R27, F70).
//
// For a unit that has no place, pods of lower priority are made to leave if it can be placed then (R36; package sched says
// who). All of them are told first, in their condition DisruptionTarget, and deleted after that: what a crash interrupts is
// finished by the next scheduler. The unit is not tried before all are seen to be going, and its place is kept in the State
// until it has it. A claim that a group holds is taken back once no pod of the group is left (docs/adr/0005).
//
// Other schedulers may allocate devices, too: the API server lets no two claims have one device (docs/adr/0004), and
// the plan of who comes second is refused (F64).
package scheduler
