// Package v1beta1 has Workload and PodGroup of Kubernetes 1.37, with
// clusterResourceClaimTemplateName added to group claims (KEP-5978, "API Changes").
//
// This is the hub: objects are stored in this version, and v1alpha2 is converted to and from it.
// All other types are upstream's.
//
// +k8s:deepcopy-gen=package
package v1beta1

//go:generate go run ../../internal/redeclare -from k8s.io/api/scheduling/v1beta1 PodGroupSpec:ResourceClaims=PodGroupResourceClaim PodGroupTemplate:ResourceClaims=PodGroupResourceClaim WorkloadSpec "CompositePodGroupTemplate+ResourceClaims=[]PodGroupResourceClaim `json:\"resourceClaims,omitempty\" patchStrategy:\"merge,retainKeys\" patchMergeKey:\"name\" protobuf:\"bytes,100,rep,name=resourceClaims\"`"
//go:generate go run ../../internal/wire -model io.k8s.api.scheduling.v1beta1 -kinds PodGroup,PodGroupList,Workload,WorkloadList -structs PodGroupSpec,PodGroupTemplate,WorkloadSpec,CompositePodGroupTemplate
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
