// Package cluster converts API objects into the one live model.State.
//
// A Feed collects changes from the informers, which report them in any order and on several
// goroutines, and applies them to the State when its owner calls Apply, on the owner's goroutine
// (one writer, no locks in the core). The claim entries of a pod are resolved at that time with the
// current PodGroup. When the PodGroup changes, its pods are resolved again, so that the State does
// not depend on the order of changes.
//
// The package makes no placement decisions and writes nothing to the API.
package cluster
