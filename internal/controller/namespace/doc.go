// Package namespace empties a namespace that is being deleted, and lets it go when it
// is empty.
//
// Pods go first, gracefully; everything else of every kind that discovery shows follows
// when no pod is left. What remains, and why, is told in the conditions of the
// namespace, for as long as something remains.
//
// Invariants: nothing is deleted in a namespace that is not being deleted; a namespace
// is released (its finalizer "kubernetes" is removed) only after every kind was listed and
// found empty, with complete discovery. Finalizers of other parties are left to them.
package namespace
