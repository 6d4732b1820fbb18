// Package validation decides whether an object that a client sends may be stored.
//
// For a kind K there are ValidateK for creation, ValidateKUpdate, and, if K has a status,
// ValidateKStatusUpdate. Each returns all errors, with the field paths of the client's version, and
// an empty list for a valid object.
//
// The functions use the object and the state that it replaces, never other objects, a clock or the
// requester: checks that need those are in admission. They do not modify their arguments, and
// expect that defaults are set. If Kubernetes' generated declarative validation is published for a
// type it is called, and only the remaining checks are written here, so that each error is reported
// once.
package validation
