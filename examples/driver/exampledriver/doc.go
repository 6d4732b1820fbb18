// Package exampledriver is a small DRA driver, to start from and to try allot with. It is written
// with k8s.io/dynamic-resource-allocation/kubeletplugin, as most drivers are, and knows nothing of
// allot: it runs on a real node in the same way.
//
// Its devices do not exist. It publishes them for one node, "prepares" a claim by inventing the ID
// of a CDI device for each of its devices, and logs each call. With --cdi it writes what a container
// with a device has in its environment, for the container runtime of a real node.
package exampledriver
