// Package validation decides whether an object that a client sends may be stored.
//
// For a kind K there are ValidateK for creation, ValidateKUpdate, and, where K has
// a status, ValidateKStatusUpdate. Each gives back every fault at once, with the
// path of the field as the client wrote it, and an empty list for what is right.
//
// The functions look at the object and at the state that it replaces, never at
// other objects, the clock or the requester: what needs those is admission. They
// change nothing. They expect defaulted objects. Where Kubernetes' generated
// declarative validation is published it is called, and only what it leaves out is
// written here, so that one fault is reported once.
package validation
