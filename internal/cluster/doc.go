// Package cluster turns what the API shows into the one live model.State.
//
// A Feed collects the changes that the informers report, in any order and from
// several goroutines, and lays them over the State when its owner asks, on the
// owner's goroutine (one writer, no locks in the core). What a pod's
// claim entries mean is resolved at that moment, with the PodGroup as it is then;
// when the PodGroup changes, its pods are resolved anew, so that the State is the
// same whatever order the changes arrived in.
//
// The package decides nothing about placement and writes nothing to the API.
package cluster
