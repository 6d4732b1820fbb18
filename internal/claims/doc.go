// Package claims makes all decisions about ResourceClaims except the choice of devices: which claim
// an entry of a pod means (Resolve), which claims must be generated and recorded (DesiredClaims),
// which consumer is added to status.reservedFor (Reserve), which consumers are removed and when the
// claim is deallocated (Release), whether a node may run a pod with a claim (CanRun), and how
// controllers and placement see objects while features are off (Seen…, Placed…).
//
// The package takes API objects and returns values. It does not access the API, a clock or random
// numbers, and does not modify its arguments. What it cannot decide from its arguments is requested
// in the result (the fields Ask…); the caller reads that from the API and calls again.
//
// Invariants:
//   - The name of a generated claim is a function of the owner's UID and the entry. Names are
//     unique on the server, so that stale caches cannot lead to a second claim for one entry (R11).
//   - A PodGroup is added as a consumer once, regardless of the number of its pods (R15).
//   - A claim is deallocated only when it has no consumers and no scheduled pod that names it may
//     be running; such a pod first becomes a consumer (R17, R18). If a consumer that covered pods
//     without naming them was removed, a pod that may be about to be bound counts as well
//     (docs/adr/0007).
package claims
