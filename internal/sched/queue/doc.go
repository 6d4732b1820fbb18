// Package queue decides which unit is tried next.
//
// Queue keeps units in the order in which they are tried, and parks those that could not be placed
// until a change that could help. A unit is in it at most once. It does not read the State: what
// can help a unit is a function that the caller passes with it.
package queue
