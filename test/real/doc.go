// Package real runs unmodified controllers of other projects against allot up.
//
// Each controller is a folder: a Go module that pins its version, and scenarios in testdata. A test
// builds the controller and allot, starts allot up as a process of its own, applies the manifests
// that the controller's module ships, and starts the controller with the rights of its
// ServiceAccount, its webhooks and the certificates that it creates for them.
//
// A scenario is a script in the language of testscript, in a namespace of its own. It runs kubectl
// as a user would, kills allot and the controller in the middle, and finally checks that nothing is
// left in the namespace.
//
// README.md has the versions, and what differs from an installation in a cluster.
package real
