package openapi

import "maps"

// ownTexts returns the descriptions of added fields, of kinds that upstream 1.37 does not have, and
// of the few upstream types without a SwaggerDoc method.
func ownTexts() texts {
	all := texts{}
	for _, part := range []texts{addedTexts(), podGroupTexts(), workloadTexts(), templateTexts(), placementTexts(),
		machineryTexts()} {
		maps.Copy(all, part)
	}
	return all
}

// addedTexts returns the descriptions of the fields that the KEPs add to upstream's types.
func addedTexts() texts {
	return texts{
		"io.k8s.api.core.v1.PodResourceClaim": {
			"podGroupResourceClaim": "The name of an entry of spec.resourceClaims of this pod's PodGroup. The pod then " +
				"uses the claim of its group, which all pods of the group share, instead of one of its own. It requires " +
				"spec.schedulingGroup.podGroupName. While the PodGroup has no such entry the pod stays pending. Exactly one of " +
				"resourceClaimName, resourceClaimTemplateName, podGroupResourceClaim and clusterResourceClaimTemplateName must be set " +
				"(KEP-5729).",
			"clusterResourceClaimTemplateName": "The name of a ClusterResourceClaimTemplate. A ResourceClaim is generated from it for this " +
				"pod, in the pod's namespace, and deleted with the pod. Exactly one of resourceClaimName, resourceClaimTemplateName, " +
				"podGroupResourceClaim and clusterResourceClaimTemplateName must be set (KEP-5978).",
		},
		"io.k8s.api.resource.v1.ResourceClaimSpec":                {"reservedFor": reservedForText},
		"io.k8s.api.resource.v1.AllocationResult":                 {"reservedForAnyPod": anyPodText},
		"io.k8s.api.resource.v1beta1.ResourceClaimSpec":           {"reservedFor": reservedForText},
		"io.k8s.api.resource.v1beta1.AllocationResult":            {"reservedForAnyPod": anyPodText},
		"io.k8s.api.resource.v1beta2.ResourceClaimSpec":           {"reservedFor": reservedForText},
		"io.k8s.api.resource.v1beta2.AllocationResult":            {"reservedForAnyPod": anyPodText},
		"io.k8s.api.scheduling.v1beta1.PodGroupResourceClaim":     {"clusterResourceClaimTemplateName": groupTemplateText},
		"io.k8s.api.scheduling.v1beta1.CompositePodGroupTemplate": {"resourceClaims": treeClaimsText},
		"io.k8s.api.scheduling.v1alpha3.CompositePodGroupSpec":    {"resourceClaims": treeClaimsText},
		"io.k8s.api.scheduling.v1alpha3.CompositePodGroupStatus": {
			"resourceClaimStatuses": "The ResourceClaims of the entries of spec.resourceClaims that have a template (in the manner of KEP-5729).",
		},
		// Upstream's text has 4.
		"io.k8s.api.batch.v1.JobSchedulingConfiguration": {
			"resourceClaims": "Claims of the Job's PodGroup, which its pods share, at most 32, as for a PodGroup, with unique " +
				"names. A pod uses one of them through a podGroupResourceClaim with that name (KEP-5729). Immutable.",
		},
	}
}

const reservedForText = "The consumer that is added to status.reservedFor when the claim is reserved, instead of the pod for which the claim was " +
	"allocated. Every pod that references the claim may then use it, so that more pods can share it than status.reservedFor has " +
	"entries. The client that sets this field must remove the consumer from status.reservedFor when no pod uses the claim; it is " +
	"not released before. Immutable (KEP-5194)."

const anyPodText = "True if the claim was reserved for the consumer that spec.reservedFor names. Pods that reference the claim may then " +
	"use it without being listed in status.reservedFor (KEP-5194)."

const groupTemplateText = "The name of a ClusterResourceClaimTemplate. One ResourceClaim is generated from it for the whole PodGroup, in the " +
	"PodGroup's namespace, and deleted with the PodGroup. Exactly one of resourceClaimName, resourceClaimTemplateName and " +
	"clusterResourceClaimTemplateName must be set (KEP-5978)."

const treeClaimsText = "Claims that all groups below the CompositePodGroup can share, at most 32, with unique names. From a template, one " +
	"ResourceClaim is generated for the whole tree. A group uses it by an entry of spec.resourceClaims with the same name and " +
	"source (in the manner of KEP-5729). Immutable."

const (
	objectMetaText = "Standard object metadata."
	specClaimsText = "Claims that the group owns and its pods share, at most 32, with unique names. A pod uses one of them through a " +
		"podGroupResourceClaim with that name (KEP-5729). Immutable."
	disruptionText  = "Whether the pods may be preempted one by one (Pod, the default) or only all together (PodGroup). Immutable."
	constraintsText = "The placement of the pods in relation to each other, such as all of them in one topology domain."
	classText       = "The name of the PriorityClass of the group."
	priorityText    = "The priority of the group, set from its PriorityClass at creation."
	preemptionText  = "Whether the group may preempt pods of lower priority. The default allows it; Never does not."
)

func podGroupTexts() texts {
	return texts{
		"io.k8s.api.scheduling.v1alpha2.PodGroup": {
			"": "PodGroup is a group of pods that are scheduled together by one policy and may share ResourceClaims. Pods join it by " +
				"spec.schedulingGroup.podGroupName. It is protected until none of its pods can run (KEP-5832).",
			"metadata": objectMetaText,
			"spec":     "The specification of the group. Immutable, except for the minCount of a gang.",
			"status":   "The current state of the group.",
		},
		"io.k8s.api.scheduling.v1alpha2.PodGroupSpec": {
			"":                      "PodGroupSpec describes how the pods of a group are scheduled (KEP-5832).",
			"podGroupTemplateRef":   "The template in a Workload from which the group was created.",
			"schedulingPolicy":      "How the pods are scheduled: individually, or as a gang. If it is not set at creation, that of the referenced template is copied.",
			"schedulingConstraints": constraintsText,
			"resourceClaims":        specClaimsText,
			"disruptionMode":        disruptionText,
			"priorityClassName":     classText,
			"priority":              priorityText,
			"preemptionPolicy":      preemptionText,

			"parentCompositePodGroupName": "The CompositePodGroup that the group is a child of, in the same namespace. Without one, the group is scheduled on its own (KEP-6012).",
		},
		"io.k8s.api.scheduling.v1alpha2.PodGroupTemplateReference": {
			"":                     "PodGroupTemplateReference names the template of a PodGroup (KEP-5832).",
			"workload":             "The Workload and the template in it.",
			"workloadName":         "A short form of workload.workloadName. It is stored as that, and never returned.",
			"podGroupTemplateName": "A short form of workload.podGroupTemplateName. It is stored as that, and never returned.",
		},
		"io.k8s.api.scheduling.v1alpha2.WorkloadPodGroupTemplateReference": {
			"":                     "WorkloadPodGroupTemplateReference names a template in a Workload (KEP-5832).",
			"workloadName":         "The name of the Workload, in the namespace of the PodGroup.",
			"podGroupTemplateName": "The name of an entry of spec.podGroupTemplates of the Workload.",
		},
		"io.k8s.api.scheduling.v1alpha2.PodGroupResourceClaim": {
			"":     "PodGroupResourceClaim is a claim of a whole PodGroup. Exactly one of its sources must be set (KEP-5729).",
			"name": "The name by which pods of the group refer to the claim: a DNS label, unique in the group.",
			"resourceClaimName": "The name of a ResourceClaim in the PodGroup's namespace. Exactly one of " +
				"resourceClaimName, resourceClaimTemplateName and clusterResourceClaimTemplateName must be set.",
			"resourceClaimTemplateName": "The name of a ResourceClaimTemplate in the PodGroup's namespace. One ResourceClaim is generated " +
				"from it for the whole PodGroup, and deleted with it. Exactly one of resourceClaimName, resourceClaimTemplateName and " +
				"clusterResourceClaimTemplateName must be set.",
			"clusterResourceClaimTemplateName": groupTemplateText,
		},
	}
}

func workloadTexts() texts {
	return texts{
		"io.k8s.api.scheduling.v1alpha2.Workload": {
			"":         "Workload is a set of templates for PodGroups. It does not change when PodGroups are created or deleted (KEP-5832).",
			"metadata": objectMetaText,
			"spec":     "The templates. Immutable, except for the minCount of a gang.",
		},
		"io.k8s.api.scheduling.v1alpha2.WorkloadSpec": {
			"":                  "WorkloadSpec holds the templates of a Workload (KEP-5832).",
			"controllerRef":     "The object, such as a Job, that creates the PodGroups and pods of this workload. It is for tools only; nothing depends on it.",
			"podGroupTemplates": "The templates, at most 8, with unique names. Immutable, except for the minCount of a gang.",

			"compositePodGroupTemplates": "The templates of trees of groups, at most 8, in place of podGroupTemplates. Immutable, except for minCount and minGroupCount (KEP-6012).",
		},
		"io.k8s.api.scheduling.v1alpha2.CompositePodGroupTemplate": {
			"":                           "CompositePodGroupTemplate describes CompositePodGroups with the same specification, and their children (KEP-6012).",
			"name":                       "The name of the template: a DNS label, unique in the Workload.",
			"schedulingPolicy":           "How the children of each group are scheduled: individually, or as a gang of groups.",
			"schedulingConstraints":      constraintsText,
			"disruptionMode":             "Whether the children of a group can be disrupted individually, or only together.",
			"priorityClassName":          classText,
			"priority":                   priorityText,
			"preemptionPolicy":           preemptionText,
			"podGroupTemplates":          "The templates of children with pods, at most 8.",
			"compositePodGroupTemplates": "The templates of children with groups, at most 8. A tree has at most 4 levels.",
			"resourceClaims":             treeClaimsText,
		},
		"io.k8s.api.scheduling.v1alpha2.PodGroupTemplate": {
			"":                      "PodGroupTemplate describes PodGroups with the same specification (KEP-5832).",
			"name":                  "The name of the template: a DNS label, unique in the Workload.",
			"schedulingPolicy":      "How the pods of each group are scheduled: individually, or as a gang.",
			"schedulingConstraints": constraintsText,
			"resourceClaims":        specClaimsText,
			"disruptionMode":        disruptionText,
			"priorityClassName":     classText,
			"priority":              priorityText,
			"preemptionPolicy":      preemptionText,
		},
	}
}

func templateTexts() texts {
	return texts{
		"io.k8s.api.resource.v1alpha3.ClusterResourceClaimTemplate": {
			"": "ClusterResourceClaimTemplate is a ResourceClaimTemplate for the whole cluster: pods and PodGroups of every namespace may " +
				"name it, and the claims are generated in their namespaces (KEP-5978).",
			"metadata": objectMetaText,
			"spec":     "The content of the generated claims. Immutable.",
		},
		"io.k8s.api.resource.v1alpha3.ClusterResourceClaimTemplateSpec": {
			"":         "ClusterResourceClaimTemplateSpec is the metadata and the spec of generated claims (KEP-5978).",
			"metadata": "Labels and annotations that each generated claim gets. Nothing else may be set.",
			"spec":     "The spec of each generated claim.",
		},
	}
}

func placementTexts() texts {
	return texts{
		"dev.allot.placement.v1alpha2.Placement": {
			"": "Placement creates ResourceClaims with their allocations and binds pods of one namespace to nodes: all of them or " +
				"none. It is created, and never stored. A user needs in addition the permission to create pods/binding for each pod, " +
				"and for claims the permissions to create them and to update resourceclaims/status.",
			"metadata": objectMetaText,
			"spec":     "The claims and binds to write.",
			"status":   "The result. It is set by the server.",
		},
		"dev.allot.placement.v1alpha2.PlacementSpec": {
			"": "PlacementSpec has the writes of a Placement.",
			"claims": "The ResourceClaims to create, at most 500, each with its allocation and its consumers in the status. They are " +
				"created before the pods are bound. A claim that exists is a conflict, unless it was created by an earlier attempt of " +
				"the same request.",
			"pods": "The pods and their nodes, at most 10,000, each pod once.",
		},
		"dev.allot.placement.v1alpha2.PodPlacement": {
			"":         "PodPlacement is a pod and the node to which it is bound.",
			"name":     "The name of the pod.",
			"uid":      "The UID of the pod. If it is set, another pod with the name is a conflict.",
			"nodeName": "The name of the node.",
			"resourceVersion": "The version of the pod on which the decision was made. If it is set, any change of the pod since then is a " +
				"conflict.",
		},
		"dev.allot.placement.v1alpha2.PlacementStatus": {
			"": "PlacementStatus is the result of a Placement.",
			"unbound": "The pods that were not bound, because they were deleted or bound by another client after the Placement was " +
				"accepted.",
		},
		"dev.allot.placement.v1alpha2.UnboundPod": {
			"":        "UnboundPod is a pod that changed after the Placement was accepted.",
			"name":    "The name of the pod.",
			"message": "The reason why the pod was not bound.",
		},
	}
}

// machineryTexts returns the descriptions of types without SwaggerDoc: the format of their values
// in JSON.
func machineryTexts() texts {
	return texts{
		"io.k8s.apimachinery.pkg.apis.meta.v1.Time": {
			"": "A time in seconds, in the format of RFC 3339; null if it is not set.",
		},
		"io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": {
			"": "A time in microseconds, in the format of RFC 3339; null if it is not set.",
		},
		"io.k8s.apimachinery.pkg.apis.meta.v1.Duration": {"": "A duration such as 1h30m or 250ms."},
		"io.k8s.apimachinery.pkg.api.resource.Quantity": {
			"": "A number with an optional unit: decimal (n, u, m, k, M, G, T, P, E), binary (Ki, Mi, Gi, Ti, Pi, Ei) or an exponent " +
				"(e3). Examples: 2, 500m, 1.5Gi, 3e6. It is stored exactly, in a canonical form.",
		},
		"io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
			"": "A whole number or a string, such as the number or the name of a port.",
		},
		"io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent": {
			"":       "One change of a watched resource.",
			"type":   "What happened: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.",
			"object": "The object after the change, or before its deletion; a Status for ERROR; for BOOKMARK an object with only a resource version.",
		},
		"io.k8s.apimachinery.pkg.runtime.RawExtension": {"": "Any JSON object, identified by its kind."},
		"io.k8s.apimachinery.pkg.version.Info": {
			"":                      "The version of a component, with details of its build.",
			"major":                 "The major version.",
			"minor":                 "The minor version.",
			"gitVersion":            "The complete version.",
			"gitCommit":             "The commit from which it was built.",
			"gitTreeState":          "Whether the source tree was unmodified.",
			"buildDate":             "When it was built.",
			"goVersion":             "The version of Go with which it was built.",
			"compiler":              "The compiler with which it was built.",
			"platform":              "The operating system and processor architecture.",
			"emulationMajor":        "The emulated major version, if it differs.",
			"emulationMinor":        "The emulated minor version, if it differs.",
			"minCompatibilityMajor": "The oldest compatible major version.",
			"minCompatibilityMinor": "The oldest compatible minor version.",
		},
	}
}
