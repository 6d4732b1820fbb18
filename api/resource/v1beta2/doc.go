// Package v1beta2 is a version of resource.k8s.io with the fields of v1. Claims and templates, with
// the additions of KEP-5194 (see ../v1), have separate types; DeviceClass and ResourceSlice are
// upstream's v1beta2 types; DeviceTaintRule is v1's type, which clients of older clusters use.
//
// Nothing is stored in this version. The types exist for what a server tells of a version: that it
// is deprecated, and the names of its OpenAPI definitions.
//
// +k8s:deepcopy-gen=package
package v1beta2

//go:generate go run ../../internal/redeclare -from k8s.io/api/resource/v1beta2 ResourceClaimStatus:Allocation=AllocationResult ResourceClaimTemplateSpec:Spec=ResourceClaimSpec
//go:generate go run ../../internal/wire -model io.k8s.api.resource.v1beta2 -kinds ResourceClaim,ResourceClaimList,ResourceClaimTemplate,ResourceClaimTemplateList -structs ResourceClaimStatus,ResourceClaimTemplateSpec
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
