// Package v1alpha2 has the kinds of the group placement.allot.dev, which only allot's own API
// server serves: it commits the plan of a scheduler as a whole (docs/adr/0009).
//
// +k8s:deepcopy-gen=package
package v1alpha2

//go:generate go run ../../internal/wire -model dev.allot.placement.v1alpha2 -kinds Placement -structs PlacementSpec,PodPlacement,PlacementStatus,UnboundPod
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
