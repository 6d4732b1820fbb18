// Package token makes and checks the tokens of service accounts.
//
// A token is a JWT that this control plane has signed. It names its service account by UID, and, if it is bound to a
// pod, a secret or a node, that too: it is good as long as these exist, and until it ends. Nothing of it is stored.
//
// The package decides what a token says and whether it counts. Objects are given to it through [Objects]; it does not
// decide what a service account may do.
package token
