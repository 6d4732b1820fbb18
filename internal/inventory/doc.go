// Package inventory counts the devices of a State for metrics: by pool and by class, in which state
// they are.
//
// A device counts from what the State shows now, never from differences, so that a count cannot
// drift. A pool is counted again only if it has changed, and an update can be divided into parts, so
// that it never occupies the State's owner for long, however many devices there are.
//
// No decision depends on a count.
package inventory
