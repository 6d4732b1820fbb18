// Package fleet describes fleets of machines that do not exist: which nodes there are, how they are labelled and what they
// offer, and which devices their drivers publish. Values in, API objects out; nothing here talks to a server.
//
// A Fleet is written in Go (Simple) or read from YAML (Parse; docs/fleet.md is the reference of that format). From it come the
// Node objects that the node agent registers, and the ResourceSlices that it publishes for them.
//
// Invariants:
//   - The same Fleet gives the same objects, in the same order, with the same names: publishing it twice changes nothing.
//   - A fleet that Parse returned has unique node names, unique device names in each pool, and slices within the API's limits.
//   - Every object bears the label LabelFleet with the fleet's name, so that what an earlier run left can be found.
//
// Slices come out as generation 1 of their pool and without owner; whoever publishes them raises the generation and sets the owner.
package fleet
