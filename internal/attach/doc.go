// Package attach is what allot needs to work on a cluster that is not its own: it looks at what the API server has,
// decides what to run there, checks that it may, and does what a cluster without PodGroups lacks (R47, docs/adr/0006).
//
// [Look] asks the server, by discovery; [Choose] is the decision, on values. [Rules] are the rights that a choice needs,
// from which the chart's roles are made as well, and [Missing] asks the server for each of them. [GroupClaims] generates
// the claims of PodGroups of allot.dev; [Limits] says by events what the cluster's kubelets cannot do, before it hurts;
// [Rivals] looks for other schedulers that give out the same devices, [Doubles] for devices that two claims have (F64).
//
// Invariants:
//   - What could not be asked is an error, and never means that the server has nothing (F69).
//   - Nothing is started that the cluster's own controller manager does already, unless it is asked for by name.
//   - A stock kubelet has to understand what is written: with PodGroups of allot.dev, claims are reserved for pods only.
package attach

//go:generate go run ./chartfiles -out ../../charts/allot/files
