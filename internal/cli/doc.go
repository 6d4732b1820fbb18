// Package cli is what a person at a terminal sees of allot: steps with their progress, manifests that are read and applied, and
// what became of them.
//
// Reading (ReadManifests), the text of a step, whether everything has settled (Settled) and the tables (Snapshot.WriteTables) are
// functions of values. Progress writes, Apply and Watch talk to the server.
//
// Invariants:
//   - Nothing is applied before all manifests are read, and nothing is written before the server has accepted, in a dry run, every
//     document that it can judge already.
//   - An error about a document names the file, the line, the number of the document, and the field where there is one.
//   - Output has no escape sequences unless it goes to a terminal, and no colours with NO_COLOR.
//
// The package starts nothing and stops nothing; app does.
package cli
