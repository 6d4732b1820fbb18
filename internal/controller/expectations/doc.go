// Package expectations records, by owner, the objects that a controller has created or deleted and
// that its cache may not show yet, so that a controller which counts objects does not create or
// delete them twice.
//
// It compares identities, not numbers: a created object is expected until the cache has its UID or
// has seen a resource version at least as new (the object may be deleted by then); a deleted one
// until the cache shows it as deleted or terminating. Events may therefore be lost, duplicated or
// arrive before the response. As a last resort, expectations expire after a time, but a Tracker
// that follows its cache does not expire them while the cache is disconnected from the server.
//
// A request without a response may have been made. Its owner is in doubt until a read of its
// objects from the API is given to Resolve, and then waits until the cache is as new as that read.
//
// Owners are identified by UID, so that a recreated owner starts without expectations. The package
// does no I/O.
package expectations
