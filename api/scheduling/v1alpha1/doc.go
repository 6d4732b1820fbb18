// Package v1alpha1 has Workload as stored by Kubernetes 1.35. It is only read. Kubernetes 1.37 does
// not know it, and cannot list Workloads if there is one.
//
// +k8s:deepcopy-gen=package
package v1alpha1

//go:generate go run ../../internal/wire -model io.k8s.api.scheduling.v1alpha1 -kinds Workload -structs WorkloadSpec,PodGroup,PodGroupPolicy
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
