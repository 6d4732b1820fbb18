// Package v1alpha1 holds the kinds of the group allot.dev, which are served by a CustomResourceDefinition and not by
// allot's API server: they work on any Kubernetes cluster.
//
// ClusterResourceClaimTemplate is the out-of-tree form of KEP-5978 (R43): a controller keeps a ResourceClaimTemplate in
// step with it in each namespace that it selects. The in-tree form of the same name is in api/resource/v1alpha3.
//
// crd.yaml is generated from the types here, and describes ResourceClaimSpec in full: what it lets pass the server may
// still refuse (CEL expressions, for one), and what it does not know is pruned.
//
// +k8s:deepcopy-gen=package
package v1alpha1

//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
//go:generate go run ../../internal/crd -out crd.yaml
//go:generate go run ../../internal/crd -kind PodGroup -out podgroups.yaml
//go:generate go run ../../internal/crd -kind Workload -out workloads.yaml
