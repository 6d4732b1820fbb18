// Package kubelet has stock nodes join allot: Kubernetes' kubelet, containerd, runc and a network
// plugin, built from their Go modules, in the versions of go.mod.
//
// The test needs Linux, root and control groups, and skips itself elsewhere. It adds two addresses to
// the loopback interface for its time, and nothing listens on another interface. Building takes some
// minutes, and 5 GB of Go's cache; what was built stays in bin. Nothing is downloaded but Go modules:
// the image of the containers is built from the folder app.
package kubelet
