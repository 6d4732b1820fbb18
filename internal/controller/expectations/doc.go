// Package expectations remembers, per owner, the objects that a controller has
// created or deleted and that its cache may not show yet, so that a controller
// which counts objects does not create or delete them twice.
//
// It compares identities, not numbers: a created object is awaited until the
// cache holds its UID or has seen a resource version at least as new (it may be
// gone again by then); a deleted one until the cache shows it as gone or
// terminating. So events may be lost, doubled or come before the answer to the
// write. An expectation that is never met ends after a time, as a last resort;
// a Tracker that follows its cache does not take one for such while the cache is
// cut off from the server.
//
// Owners are named by UID: a namesake inherits nothing. The package does no I/O.
package expectations
