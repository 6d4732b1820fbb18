// Package cli is the terminal output of allot: it reads and applies manifests, and shows the
// progress of steps and the state of the applied objects.
//
// ReadManifests, Settled and Snapshot.WriteTables are functions of values. Progress writes to the
// terminal; Apply and Watch talk to the server.
//
// Invariants:
//   - Nothing is applied before all manifests are read and the server has accepted a dry run of
//     every document that it can validate already.
//   - An error about a document names the file, the line, the number of the document, and the field
//     if there is one.
//   - Output has escape sequences only on a terminal, and colours only without NO_COLOR.
//
// The package starts and stops no part of the control plane; package app does.
package cli
