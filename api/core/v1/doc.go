// Package v1 holds the pod types of core/v1 with what the KEPs add to them:
// PodResourceClaim gains podGroupResourceClaim (KEP-5729, "Pod") and
// clusterResourceClaimTemplateName (KEP-5978, "API Changes").
//
// Everything else of core/v1 is upstream's own type. A struct that only gains a
// field embeds upstream's; one in which a field's type changes is declared
// again by a generator, because shadowing an embedded field breaks strategic
// merge patch. Wire form: the same JSON and protobuf as upstream, with the added
// fields under numbers from 100 (or the number the KEP gives), which clients
// that do not know them skip.
//
// +k8s:deepcopy-gen=package
package v1

//go:generate go run ../../internal/redeclare -from k8s.io/api/core/v1 PodSpec:ResourceClaims=PodResourceClaim PodTemplateSpec
//go:generate go run ../../internal/wire -model io.k8s.api.core.v1 -kinds Pod,PodList -structs PodSpec,PodTemplateSpec
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
