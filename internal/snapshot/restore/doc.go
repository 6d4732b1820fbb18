// Package restore writes the objects of a snapshot.Snapshot to an API server that has none of them,
// so that allot up can go on from there.
//
// The server gives each object a new UID, and all references follow. Nodes and ResourceSlices are
// not written: Fleet returns them as a fleet, whose agent registers and publishes them. Pods that
// are terminating or have finished, events, and objects that exist already are left out.
// StatefulSets and DaemonSets do not update their pods, because a Snapshot has no revisions of
// their templates.
//
// The package decides nothing about placement. It must be done before controllers and the scheduler
// start.
package restore
