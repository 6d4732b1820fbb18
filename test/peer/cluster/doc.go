// Package cluster runs this project against Kubernetes 1.37.2 itself: its API server and its controller manager, built from their sources, on an embedded
// etcd and on loopback ports (issue 6, R46, R47). The nodes are `allot node`'s, but for one that has a
// [Kubelet]: not a whole one, but its part that has to do with claims, with a [Driver].
//
// [Kubernetes] is such a control plane; [Process] is one of its parts, or of allot's. The tests are the statements. Two
// control planes are shared by all of them, one with the gates for PodGroups and one as Kubernetes comes.
package cluster
