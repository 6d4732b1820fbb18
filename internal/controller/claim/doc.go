// Package claim is the controller of ResourceClaims. It generates the claims that
// PodGroups and pods want from templates, records their names, reserves claims for
// pods that were scheduled without it, and releases, deallocates and deletes what
// nobody uses any more (R11, R12, R13, R16, R17).
//
// All decisions are those of package claims: the Controller gathers from its caches,
// decides, and writes the difference. What a decision asks for it reads live.
//
// Invariants:
//   - There are never two claims for one entry, however late events come: the name of
//     a generated claim follows from its owner, and the server refuses the second. The
//     memory of own claims (made) only saves reads and writes.
//   - A status is written in one request with all entries, and only when it is wrong.
//   - Claims are updated with their resource version, never patched, so that a
//     reservation of the scheduler is never lost.
//   - After a start everything is looked at once (F34).
//
// The package allocates nothing, and never touches consumers of kinds that it does
// not know.
package claim
