// Package v1 has the kinds of resource.k8s.io/v1 to which the KEPs add fields: ResourceClaim has
// spec.reservedFor and status.allocation.reservedForAnyPod (KEP-5194, "API"). DeviceClass and
// ResourceSlice are upstream's types.
//
// +k8s:deepcopy-gen=package
package v1

//go:generate go run ../../internal/redeclare -from k8s.io/api/resource/v1 ResourceClaimStatus:Allocation=AllocationResult ResourceClaimTemplateSpec:Spec=ResourceClaimSpec
//go:generate go run ../../internal/wire -model io.k8s.api.resource.v1 -kinds ResourceClaim,ResourceClaimList,ResourceClaimTemplate,ResourceClaimTemplateList -structs ResourceClaimStatus,ResourceClaimTemplateSpec
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
