// Package v1alpha2 has Workload and PodGroup of KEP-5832, which Kubernetes 1.37 no longer serves.
// Objects are stored as v1beta1; convert.go has the conversions.
//
// The differences from upstream's last version are: podGroupTemplateRef also accepts KEP-5729's
// flat form (write-only), group claims have clusterResourceClaimTemplateName, and v1beta1's
// preemptionPolicy, parentCompositePodGroupName and compositePodGroupTemplates are included so that
// nothing is lost in a round trip (R4, R6).
//
// +k8s:deepcopy-gen=package
package v1alpha2

//go:generate go run ../../internal/wire -model io.k8s.api.scheduling.v1alpha2 -kinds PodGroup,PodGroupList,Workload,WorkloadList -structs PodGroupSpec,PodGroupTemplate,CompositePodGroupTemplate,PodGroupResourceClaim,PodGroupTemplateReference,WorkloadPodGroupTemplateReference,WorkloadSpec
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
