// Package model holds the values that the pure core decides on, and the State of the cluster that
// they make up.
//
// It decides nothing about placement. Look-ups take constant time. The State keeps the indices that
// alloc and sched need (free resources of a node, holders of a device, members of a group, matching
// pods in a topology domain). A change costs as much as the change is large, never as much as the
// cluster is.
//
// # Stores
//
// A State consists of stores, one for each kind of object. Each store is one file with its name.
//
//   - Nodes: nodes with the pods on them, their free resources, and the order of changes. Images:
//     the nodes that have a container image.
//   - Pods and Groups: pods as observed and as assumed, counts by priority and set; PodGroups with
//     their members. Terms: how many pods an affinity or spread term matches in a domain.
//   - Claims: ResourceClaims as observed and as assumed.
//   - Devices: ResourceSlices, the pools that they make up, and the holders of each device.
//     Classes: DeviceClasses. TaintRules: DeviceTaintRules.
//   - Volumes: PersistentVolumes, their claims, and the limits of nodes.
//   - Services, Budgets, Namespaces: what spreading, preemption and pod affinity read of these.
//   - Nominations: places that are kept for units.
//
// Classes, Volumes, Budgets and Images depend on no other store. The others reach those that they
// keep indices in through the State. All stores write their inverse changes to one undo log, so
// that a Tx undoes changes of all of them. State.Audit replays each store into a new State and
// compares what was derived; a store with invariants beyond that has an audit method of its own.
//
// # Observed and assumed
//
// What the API server shows is observed (Pods.Put, Claims.Put, …). What a Plan has decided and the
// API server has not confirmed yet is assumed (Pods.Assume, Claims.Assume): it lies over the
// observed object until that object shows a node or an allocation of its own, is replaced by one
// with another UID, or the assumption is forgotten (Pods.Forget, Claims.Forget). A plan may also
// create a claim, which exists from Claims.Assume on. Look-ups return the effective value.
//
// # Invariants
//
//   - Values given to a Put method belong to the State from then on; values from look-ups are
//     read-only.
//   - An older version of an object (by resource version, same UID) never replaces a newer one.
//   - A device that a claim holds stays held when its slice is deleted.
//   - Only slices of a pool's newest generation count, and a pool that lacks one of them is not
//     complete. A pool is built when it is first looked up, not once for each of its slices.
//   - Undoing a Tx restores the State exactly.
//
// The package uses no network, clock, environment, global randomness, logging or goroutines.
// API objects are converted (NodeFrom, PodFrom, …) only here.
package model
