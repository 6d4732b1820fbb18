// Package cluster runs this project with Kubernetes 1.37.2 itself: its API server and its
// controller manager, built from source, on an embedded etcd and on loopback ports (issue 6, R46,
// R47). The nodes are those of `allot node`, except for one that has a [Kubelet]: not a complete
// one, but its claim manager, with a [Driver].
//
// [Kubernetes] is such a control plane; [Process] is one of its components, or one of allot's. Two
// control planes are shared by all tests, one with the gates for PodGroups and one with the default
// configuration.
package cluster
