// Package conformance has the product's promises, as statements that hold on each cluster on which
// it works: `allot up`, and Kubernetes with `allot attach`, with PodGroups of its own or with those
// of allot.dev (issue 6). A statement acts as a user and checks what a user sees: it uses only the
// API.
//
// [Run] runs the statements on a [Target]. The caller has started the cluster, with [Fleet] as its
// machines. The differences between clusters are in Target and [Spelling]; a statement that does
// not apply to a cluster is skipped.
package conformance
