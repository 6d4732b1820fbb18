// Package pki manages the certificates of one server in a directory.
//
// A stored certificate is reused if it is signed by the authority, has the same subject and usages,
// and has more than a third of its lifetime left. Signing keys, including that of the authority,
// are created once. Keys and certificates are readable by their owner only and are replaced
// atomically. Certificates that others request are signed and not stored. The package does not access
// the network and never deletes a file.
package pki
