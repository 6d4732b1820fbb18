// Package garbagecollector deletes objects whose owners are gone, carries out
// foreground and orphaning deletion, and does so for every kind that the server has,
// custom resources included.
//
// The Graph knows who owns whom, from the events of all kinds, and names the objects
// to look at; Decide says what is to be done with one of them. Both are plain data
// structures and functions. The Controller watches, asks the server where the graph is
// not enough, and writes.
//
// Invariants: an object is deleted only if every owner that it names is known to be
// gone, either because its deletion was seen or because the server, asked for it by
// name, does not have that UID; the write names the version of the object on which this
// was decided. Nothing is written unless an owner is deleted. An owner reference means
// an object in the same namespace, or one without namespace; an owner in another
// namespace counts as absent, and an event says so. A reference that a cluster-wide object
// makes to a namespaced kind can never be resolved, and protects it for ever.
package garbagecollector
