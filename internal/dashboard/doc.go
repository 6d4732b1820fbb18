// Package dashboard serves the live page of a cluster: a map of its nodes and devices, its PodGroups
// and claims, what happened in the last minutes, and what explain says about each object.
//
// A View follows one cluster and keeps its picture.Picture up to date. A Server serves the files of
// the folder page, which are in the binary, a stream of differences between Pictures as server-sent
// events, and Reports. The link to the page contains a random token, without which nothing is
// served.
//
// Invariants: nothing is written to the cluster, and the server has no method that changes anything.
// The page shows what the rights of the kubeconfig permit, and names what they do not. The page
// sends requests to its own server alone.
package dashboard
