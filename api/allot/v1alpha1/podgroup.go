package v1alpha1

import _ "embed" // the definitions

// PodGroup and Workload are kinds of this group for clusters whose API server does not serve them.
// They have the fields of scheduling.k8s.io/v1beta1 (package api/scheduling/v1beta1);
// podgroups.yaml and workloads.yaml define them.
const (
	// PodGroupLabel is the label by which a pod joins a PodGroup in its namespace on such clusters,
	// where the pod spec has no field for it.
	PodGroupLabel = "allot.dev/pod-group"
	// GroupClaimSuffix is the suffix of a spec.resourceClaims[].resourceClaimName that refers to a
	// claim of the pod's PodGroup: fabric.podgroup.allot.dev is the claim of the entry "fabric".
	// The admission policy of the chart replaces it by the name of the claim, [GroupClaimName].
	GroupClaimSuffix = ".podgroup.allot.dev"
	// GroupClaimsFinalizer protects a PodGroup until the claims generated for it are deleted, so
	// that a new PodGroup with the same name never finds them.
	GroupClaimsFinalizer = "allot.dev/group-claims"
)

// PodGroupCRD is the CustomResourceDefinition of PodGroup, as YAML.
//
//go:embed podgroups.yaml
var PodGroupCRD string

// WorkloadCRD is the CustomResourceDefinition of Workload, as YAML.
//
//go:embed workloads.yaml
var WorkloadCRD string

// PodGroups is the resource of PodGroup.
var PodGroups = SchemeGroupVersion.WithResource("podgroups")

// Workloads is the resource of Workload.
var Workloads = SchemeGroupVersion.WithResource("workloads")

// GroupClaimName returns the name of the claim that is generated for an entry of a PodGroup. It
// depends only on the two names, so that the author of the pod can know it.
func GroupClaimName(group, entry string) string { return group + "-" + entry }
