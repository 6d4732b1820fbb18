// Package plan is the result of a placement: what must be written to the API for the pods of a
// unit.
//
// A Plan names the versions of the objects that it relies on. Assume applies it to the State before
// it is written, so that later placements count it, and Forget reverts that if it was refused. The
// package decides nothing and writes nothing.
package plan
