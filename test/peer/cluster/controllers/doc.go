// Package controllers compares allot's workload controllers with those of Kubernetes 1.37.2.
//
// Each file in testdata is a scenario: manifests, and a script of the actions of a user and a
// kubelet, and of time. A scenario runs in a namespace of its own on two control planes in
// lockstep: upstream's API server and controller manager, and allot's. Neither has a scheduler or
// nodes that run pods; the same [Kubelet] binds pods and writes their status on both. At each
// "compare" all objects of the namespace, and the events about them, must become equal on both
// sides, without random values and times (see normalize.go).
//
// A difference fails the test unless it is in intended.go with its reason. An entry there that
// explains no difference of any scenario also fails the test.
package controllers
