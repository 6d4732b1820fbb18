// Package token issues and verifies the tokens of service accounts.
//
// A token is a JWT signed by this control plane. It has the UID of its service account, and that of
// the pod, secret or node to which it is bound, if any. It is valid until it expires, as long as
// these objects exist. Tokens are not stored. Bootstrap tokens, with which machines join, are not
// signed: each is a secret in the namespace kube-system.
//
// The package decides the content and the validity of tokens. It reads objects through [Objects],
// and does not decide what a service account may do.
package token
