// Package claim is the ResourceClaim controller. It generates claims from templates for PodGroups
// and pods, records their names, reserves claims for pods that were scheduled without a
// reservation, and releases, deallocates and deletes unused claims (R11, R12, R13, R16, R17).
//
// All decisions are made by package claims: the Controller gathers from its caches, decides, and
// writes the difference. What a decision requests is read from the API.
//
// Invariants:
//   - There are never two claims for one entry, whatever the order of events: the name of a
//     generated claim is derived from its owner, and the server rejects a second one. Pending
//     creates only save reads and writes.
//   - Owners that lack claims are processed before status updates, unless these have waited for a
//     while (R44); both are processed before releases, which get a fourth of the turns.
//   - A status is written in one request with all entries, and only when it is wrong.
//   - Claims are updated with their resource version, never patched, so that no reservation of the
//     scheduler is lost.
//   - After a start, everything is checked (F34). Changes that may have been missed before, such as
//     the release of an allocation by its owner, take effect a minute later.
//   - A cached object with the name of a consumer but a different UID proves nothing, because it
//     may be the predecessor. The API is read instead.
//   - Consumers of kinds without a watch are checked once a minute, each of them once for all its
//     claims, and not in their first minute. They are kept while they cannot be read.
//   - A claim that pods other than its owner may use is deallocated only if the pods that name it
//     are known as of the claim's version, however old the cache of pods is (docs/adr/0007).
//
// The package does not allocate.
package claim
