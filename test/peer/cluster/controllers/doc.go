// Package controllers compares allot's workload controllers with those of Kubernetes 1.37.2.
//
// Each file of testdata is a scenario: manifests, and a script of what a user, a kubelet and time do
// to them. A scenario runs in a namespace of its own on two control planes in lockstep: upstream's API
// server and controller manager, and allot's. Neither has a scheduler or nodes that run pods; the
// same [Kubelet] binds pods and writes their status on both. At each "compare" all objects of
// the namespace, and the events about them, must come to be the same on both sides, without what
// is random or a time (see normalize.go).
//
// A difference fails the test unless intended.go lists it with its reason. An entry there that
// explains no difference of any scenario fails the test too.
package controllers
