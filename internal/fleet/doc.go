// Package fleet describes simulated fleets: nodes with labels and resources, and the devices that
// their drivers publish. It returns API objects and does not access a server.
//
// A Fleet is created in Go (Simple) or parsed from YAML (Parse; docs/fleet.md describes the
// format). It provides the Node objects that the node agent registers, and the ResourceSlices that
// it publishes.
//
// Invariants:
//   - Equal fleets give equal objects with equal names in the same order: publishing a fleet again
//     changes nothing.
//   - A fleet returned by Parse has unique node names, unique device names within each pool, and
//     slices within the API limits.
//   - All objects have the label LabelFleet with the name of the fleet, so that objects of an
//     earlier run can be found.
//
// Slices have generation 1 and no owner. The publisher increments the generation and sets the
// owner.
package fleet
