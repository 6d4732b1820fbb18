// Package gather reads a snapshot.Snapshot from an API server: allot's own, or a cluster of
// Kubernetes 1.34 or later, with the rights to list alone.
//
// A kind that may not be listed in all namespaces is listed in one, if there is one to fall back
// to, and otherwise left out. Either is recorded in the Snapshot, with what is not known because of
// it.
//
// The package writes nothing to the API and decides nothing.
package gather
