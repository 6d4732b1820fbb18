// Package snapshot has the objects of a cluster that decide where pods run and which devices claims
// get, as one value and as one file.
//
// A Snapshot is what explain and plan work on. Its State is made by the conversions of package
// cluster, so that it is the State that a scheduler has. Package gather reads a Snapshot from a
// server; a file has it in a versioned form, compressed or not.
//
// Invariants: the same objects give the same file, in whatever order they were added. A Snapshot
// has no Secrets, no ConfigMaps, and nothing of containers that does not decide: no environment, no
// commands, no arguments. What could not be read is listed in Unknown.
//
// The package does no I/O other than reading and writing the streams that it is given.
package snapshot
