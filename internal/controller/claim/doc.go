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
//   - Owners that lack claims go before what is to be recorded, unless that has waited for a while (R44); both go
//     before what is to be released, which has a fourth of the turns.
//   - A status is written in one request with all entries, and only when it is wrong.
//   - Claims are updated with their resource version, never patched, so that a
//     reservation of the scheduler is never lost.
//   - After a start everything is looked at once (F34). What may have happened before,
//     unseen, such as that an owner let an allocation go, counts a minute later.
//   - That a cache shows another object under a consumer's name says nothing: it may be
//     the one before. The server is asked.
//   - Consumers of kinds without a watch are looked for once a minute, each, however many
//     claims it has, and not in their first minute; they stay while they cannot be read.
//   - Nothing is deallocated that other pods than its owner may use before the pods that name it are known as of
//     the claim's version, however old the cache of pods is (docs/adr/0007).
//
// The package allocates nothing.
package claim
