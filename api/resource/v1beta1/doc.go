// Package v1beta1 is the oldest served version of resource.k8s.io. Claims and templates, with the
// additions of KEP-5194 (see ../v1), have separate types; DeviceClass and ResourceSlice are
// upstream's v1beta1 types.
//
// Nothing is stored in this version. convert.go has the conversions to and from the hub, v1:
// upstream's, and those of the added fields. v1beta1 differs from v1 in three places: a request has
// its fields itself instead of in "exactly", a device has them in "basic", and nodeName and
// allNodes of a slice are not pointers.
//
// +k8s:deepcopy-gen=package
package v1beta1

//go:generate go run ../../internal/redeclare -from k8s.io/api/resource/v1beta1 ResourceClaimStatus:Allocation=AllocationResult ResourceClaimTemplateSpec:Spec=ResourceClaimSpec
//go:generate go run ../../internal/wire -model io.k8s.api.resource.v1beta1 -kinds ResourceClaim,ResourceClaimList,ResourceClaimTemplate,ResourceClaimTemplateList -structs ResourceClaimStatus,ResourceClaimTemplateSpec
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
