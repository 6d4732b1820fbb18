// Package workload is what the controllers of workloads share: ReplicaSets, StatefulSets,
// DaemonSets and Jobs, each of which owns pods and counts them.
//
// Pods is a controller's access to the pods of its owners. It knows which creations and deletions
// the cache does not show yet. A creation or deletion whose response was lost may have been made or
// not: Pods then reads the owner's pods from the API, and does not let the controller count before
// the cache is as new as that. A controller that counted earlier would create a second pod for one
// that exists, or delete another pod in place of one that is terminating.
//
// The package decides nothing about how many pods an owner has, or which.
package workload
