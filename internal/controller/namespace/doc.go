// Package namespace deletes the content of a namespace that is being deleted, and releases the
// namespace when it is empty.
//
// Pods are deleted first, gracefully; objects of all other kinds found by discovery follow when no
// pod is left. Conditions of the namespace report what remains and why.
//
// Invariants: nothing is deleted in a namespace that is not being deleted. A namespace is released
// (its finalizer "kubernetes" is removed) only after every kind was listed and found empty, with
// complete discovery. Other finalizers are never changed.
package namespace
