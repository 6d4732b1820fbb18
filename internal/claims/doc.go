// Package claims decides everything about ResourceClaims that is not the choice
// of devices: which claim an entry of a pod means (Resolve), which claims must be
// generated and recorded (Wanted), who is put into status.reservedFor (Reserve),
// who leaves it and when a claim is free again (Release), whether a node may run a
// pod with a claim (CanRun), and what all of these and placement see while features
// are off (Seen…, Placed…).
//
// It takes API objects and gives values. It never reads or writes the API, never
// looks at a clock, draws no random numbers and changes none of its arguments.
// What it cannot know from its arguments it asks for in its result (the Ask
// fields); the caller reads that live and decides again.
//
// Invariants:
//   - A generated claim's name is a function of the owner's UID and the entry, so
//     the server's own uniqueness of names makes a second claim for one entry
//     impossible, however stale the caches are (R11).
//   - A consumer that stands for a PodGroup is written once, whatever the number
//     of its pods (R15).
//   - A claim is given up only when no consumer is left and no scheduled pod that
//     names it can still be running; such a pod becomes a consumer itself first
//     (R17, R18). If a consumer has left that stood for pods unnamed, a pod that may be about
//     to be bound counts as well (docs/adr/0007).
package claims
