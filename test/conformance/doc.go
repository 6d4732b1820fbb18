// Package conformance is what the product promises, as statements that hold on each cluster it works on: `allot up`, and
// Kubernetes with `allot attach`, with PodGroups of its own or with those of allot.dev (issue 6). A statement does what a user does
// and looks at what a user sees: it knows the API, and nothing of how it is served.
//
// [Run] runs the statements on a [Target]. Whoever calls it has started the cluster, with [Fleet] as its machines.
// What differs between clusters is in Target and in [Spelling]; a statement that a cluster cannot meet says so by skipping.
package conformance
