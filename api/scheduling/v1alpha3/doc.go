// Package v1alpha3 has CompositePodGroup of Kubernetes 1.37 (KEP-6012), with claims of whole trees
// of groups added, in the manner of those of PodGroups (KEP-5729).
//
// +k8s:deepcopy-gen=package
package v1alpha3

//go:generate go run ../../internal/wire -model io.k8s.api.scheduling.v1alpha3 -kinds CompositePodGroup,CompositePodGroupList
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
