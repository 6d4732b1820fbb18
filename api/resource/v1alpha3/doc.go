// Package v1alpha3 has ClusterResourceClaimTemplate (KEP-5978, "API Changes"), which Kubernetes
// 1.37 does not have.
//
// +k8s:deepcopy-gen=package
package v1alpha3

//go:generate go run ../../internal/wire -model io.k8s.api.resource.v1alpha3 -kinds ClusterResourceClaimTemplate,ClusterResourceClaimTemplateList -structs ClusterResourceClaimTemplateSpec
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
