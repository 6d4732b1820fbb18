// Package v1 has the pod types of core/v1 with the additions of the KEPs: PodResourceClaim has
// podGroupResourceClaim (KEP-5729, "Pod") and clusterResourceClaimTemplateName (KEP-5978, "API
// Changes").
//
// All other types of core/v1 are upstream's. A struct to which only a field is added embeds
// upstream's; one in which the type of a field changes is declared again by a generator, because
// shadowing an embedded field breaks strategic merge patch. JSON and protobuf are those of
// upstream, with numbers from 100 (or those of the KEP) for the added fields, which clients that do
// not know them skip.
//
// +k8s:deepcopy-gen=package
package v1

//go:generate go run ../../internal/redeclare -from k8s.io/api/core/v1 PodSpec:ResourceClaims=PodResourceClaim PodTemplateSpec ReplicationControllerSpec
//go:generate go run ../../internal/wire -model io.k8s.api.core.v1 -kinds Pod,PodList,PodTemplate,PodTemplateList,ReplicationController,ReplicationControllerList -structs PodSpec,PodTemplateSpec,ReplicationControllerSpec
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
