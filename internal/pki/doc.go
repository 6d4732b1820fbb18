// Package pki keeps the certificates of one server in a directory.
//
// It decides who gets which certificate, how long it lasts and when it is made
// anew. A certificate found on disk is used again as long as it is signed by the
// authority, says the same about its holder and has more than a third of its life
// left. A key that signs what others keep is made once, and so is the authority's. Keys and certificates are readable by
// their owner only and replaced atomically. The package never talks to the
// network and never deletes a file.
package pki
