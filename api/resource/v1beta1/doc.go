// Package v1beta1 is the oldest form of resource.k8s.io that is served: claims and templates with what KEP-5194 adds to
// them (see ../v1), as types of its own; DeviceClass is v1's own type, because its form is the same; ResourceSlice is
// upstream's v1beta1 type.
//
// Nothing is stored in this version. convert.go is the way to and from the hub, v1, by upstream's conversions and for
// the added fields by hand. v1beta1 differs from v1 in three places: a request holds its fields itself instead of in
// "exactly", a device holds them in "basic", and nodeName and allNodes of a slice are not pointers.
//
// v1beta2 needs no package: it has v1's form, and v1's types are registered under it.
//
// +k8s:deepcopy-gen=package
package v1beta1

//go:generate go run ../../internal/redeclare -from k8s.io/api/resource/v1beta1 ResourceClaimStatus:Allocation=AllocationResult ResourceClaimTemplateSpec:Spec=ResourceClaimSpec
//go:generate go run ../../internal/wire -model io.k8s.api.resource.v1beta1 -kinds ResourceClaim,ResourceClaimList,ResourceClaimTemplate,ResourceClaimTemplateList -structs ResourceClaimStatus,ResourceClaimTemplateSpec
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
