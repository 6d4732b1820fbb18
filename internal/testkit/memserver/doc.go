// Package memserver is an API server without etcd and listeners: the registry, admission and
// endpoints of package apiserver over a store in memory.
//
// A request waits for nothing outside of the process. So whole parts of the product can run against
// the server in a bubble of testing/synctest: the clock stands still while they work, and a minute
// of waiting takes no time. A test can take a Snapshot of the store and Restore it, and so begin at
// any state of an earlier test.
//
// All callers are administrators. One store has the objects of all kinds and orders their writes.
package memserver
