// Package attach contains what allot needs to run on an existing cluster: it detects what the API
// server serves, decides what to run, checks permissions, and provides what a cluster without
// PodGroups lacks (R47, docs/adr/0006).
//
// [Look] queries the server by discovery. [Choose] makes the decision, on values. [Rules] returns
// the permissions that a choice needs, from which the roles of the chart are generated as well, and
// [Missing] checks them. [GroupClaims] generates the claims of PodGroups of allot.dev. [Limits]
// reports by events what the kubelets of the cluster do not support. [CompetingSchedulers] detects
// other schedulers that allocate the same devices, and [DoubleAllocationController] finds devices
// that are allocated to two claims (F64).
//
// Invariants:
//   - A failed query is an error; it never means that the server lacks something (F69).
//   - Controllers that the cluster's own controller manager runs are started only if they are
//     requested by name.
//   - A stock kubelet must understand what is written: with PodGroups of allot.dev, claims are
//     reserved for pods only.
package attach

//go:generate go run ./chartfiles -out ../../charts/allot/files
