// Package ownership decides which objects a controller such as a ReplicaSet
// claims: those that carry its controller reference and match its selector, and
// orphans that match (Sort); it makes the patches that adopt and release.
//
// Claimer gathers the candidates from a cache and writes the patches; Watch turns
// the events of objects into the names of the controllers that they concern.
//
// Invariants: an object is in at most one part of a Claim; nothing that another
// controller owns is ever touched; a controller that is being deleted neither
// adopts nor releases, and whether it is, is asked of the server before anything is
// adopted. A patch names the UID of the object it was made for, so it never changes
// a namesake.
package ownership
