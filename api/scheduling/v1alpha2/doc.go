// Package v1alpha2 holds Workload and PodGroup as KEP-5832 has them, which
// Kubernetes 1.37 no longer serves. Objects are stored as v1beta1; convert.go is
// the way there and back.
//
// What differs from the last upstream form: podGroupTemplateRef takes
// KEP-5729's flat form too (it is read, never shown), group claims gain
// clusterResourceClaimTemplateName, and v1beta1's preemptionPolicy is carried so
// that nothing is lost on the way through this version (R4, R6).
//
// +k8s:deepcopy-gen=package
package v1alpha2

//go:generate go run ../../internal/wire -model io.k8s.api.scheduling.v1alpha2 -kinds PodGroup,PodGroupList,Workload,WorkloadList -structs PodGroupSpec,PodGroupTemplate,PodGroupResourceClaim,PodGroupTemplateReference,WorkloadPodGroupTemplateReference,WorkloadSpec
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
