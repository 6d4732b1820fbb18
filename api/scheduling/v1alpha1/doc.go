// Package v1alpha1 holds Workload as Kubernetes 1.35 stored it. It is read, and neither written nor served; 1.37 has
// forgotten it, and cannot list Workloads where there is one.
//
// +k8s:deepcopy-gen=package
package v1alpha1

//go:generate go run ../../internal/wire -model io.k8s.api.scheduling.v1alpha1 -kinds Workload -structs WorkloadSpec,PodGroup,PodGroupPolicy
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
