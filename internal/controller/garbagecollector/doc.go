// Package garbagecollector deletes objects without owners, and implements foreground and orphaning
// deletion, for all kinds that the server serves, including custom resources.
//
// The Graph records the owners of all objects from their events, and returns the objects to
// process. Decide returns what to do with one of them. Both are free of I/O. The Controller
// watches, reads from the API where the graph is not sufficient, and writes.
//
// Invariants: an object is deleted only if none of its owners exists: the deletion was seen, or the
// API has no object with this name and UID; the write has a precondition on the version of the
// object. Nothing is written unless an owner is deleted. An owner reference refers to an object in
// the same namespace or to a cluster-scoped one; an owner in another namespace counts as absent,
// and an event reports it. A reference from a cluster-scoped object to a namespaced kind can never
// be resolved, and protects the object forever.
package garbagecollector
