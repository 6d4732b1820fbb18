// Package ownership decides which objects a controller such as a ReplicaSet
// claims: those that carry its controller reference and match its selector, and
// orphans that match; and it writes the patches that adopt and release.
//
// Invariants: an object is in at most one part of a Claim; nothing that another
// controller owns is ever touched; a controller that is being deleted neither
// adopts nor releases. A patch names the UID of the object it was made for, so it
// never changes a namesake. The package does no I/O.
package ownership
