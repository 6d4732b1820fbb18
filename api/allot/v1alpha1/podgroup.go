package v1alpha1

import _ "embed" // the definitions

// PodGroup and Workload are kinds of this group on clusters whose API server has neither. They have the form of
// scheduling.k8s.io/v1beta1 (package api/scheduling/v1beta1); podgroups.yaml and workloads.yaml define them.
const (
	// PodGroupLabel is the label by which a pod joins the PodGroup of that name in its namespace: there, the spec of a pod
	// has no field for it.
	PodGroupLabel = "allot.dev/pod-group"
	// GroupClaimSuffix ends a spec.resourceClaims[].resourceClaimName that stands for a claim of the pod's PodGroup:
	// fabric.podgroup.allot.dev is the claim of the entry "fabric". The admission policy of the chart replaces it by the
	// name of the claim, which is [GroupClaimName].
	GroupClaimSuffix = ".podgroup.allot.dev"
	// GroupClaimsFinalizer keeps a PodGroup until the claims that were generated for it are gone, so that one that is made
	// anew under its name never meets them.
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

// GroupClaimName is the name of the claim that is generated for an entry of a PodGroup. It follows from the two names
// alone, so that whoever writes the pod can know it.
func GroupClaimName(group, entry string) string { return group + "-" + entry }
