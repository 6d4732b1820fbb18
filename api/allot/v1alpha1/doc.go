// Package v1alpha1 has the kinds of the group allot.dev, which are served by
// CustomResourceDefinitions, not by allot's API server: they work on any Kubernetes cluster.
//
// ClusterResourceClaimTemplate is the out-of-tree form of KEP-5978 (R43): a controller maintains a
// copy of it, a ResourceClaimTemplate, in each selected namespace. The in-tree form with the same
// name is in api/resource/v1alpha3.
//
// crd.yaml is generated from the types here, and describes ResourceClaimSpec completely. The server
// may still reject a valid object (because of CEL expressions, for example), and unknown fields are
// pruned.
//
// +k8s:deepcopy-gen=package
package v1alpha1

//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
//go:generate go run ../../internal/crd -out crd.yaml
//go:generate go run ../../internal/crd -kind PodGroup -out podgroups.yaml
//go:generate go run ../../internal/crd -kind Workload -out workloads.yaml
