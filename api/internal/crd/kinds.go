package main

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// kind has the parts of a definition that do not follow from the Go type.
type kind struct {
	object     any
	name       string
	resource   string // plural
	singular   string
	shortNames []string
	scope      apiextensionsv1.ResourceScope
	status     bool
	columns    []apiextensionsv1.CustomResourceColumnDefinition
	limits     map[string]limit
	// without are properties to omit, by model and property.
	without []string
}

func kinds() []kind {
	return []kind{clusterTemplates(), podGroups(), workloads()}
}

func kindNamed(name string) (kind, error) {
	list := kinds()
	i := slices.IndexFunc(list, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, fmt.Errorf("no kind %q", name)
	}
	return list[i], nil
}

func column(name, kind, path, description string) apiextensionsv1.CustomResourceColumnDefinition {
	return apiextensionsv1.CustomResourceColumnDefinition{Name: name, Type: kind, JSONPath: path, Description: description}
}

func age() apiextensionsv1.CustomResourceColumnDefinition {
	return column("Age", "date", ".metadata.creationTimestamp", "")
}

func clusterTemplates() kind {
	status := func(condition string) string { return `.status.conditions[?(@.type=="` + condition + `")].status` }
	reason := column("Reason", "string", `.status.conditions[?(@.type=="`+allotv1alpha1.ConditionInSync+`")].reason`,
		"The reason of the condition InSync.")
	reason.Priority = 1 // only in wide output
	return kind{
		object: allotv1alpha1.ClusterResourceClaimTemplate{}, name: allotv1alpha1.KindClusterResourceClaimTemplate,
		resource: allotv1alpha1.ClusterResourceClaimTemplates.Resource, singular: "clusterresourceclaimtemplate",
		shortNames: []string{"crct"},
		scope:      apiextensionsv1.ClusterScoped, status: true, limits: limits(),
		columns: []apiextensionsv1.CustomResourceColumnDefinition{
			column("Wanted", "integer", ".status.wanted", "The number of selected namespaces."),
			column("In Step", "integer", ".status.inStep", "The number of namespaces that have a copy of the current spec."),
			column("Conflicts", "integer", ".status.conflicting",
				"The number of namespaces in which another object has the name."),
			column("Ready", "string", status(allotv1alpha1.ConditionReady), "Whether each selected namespace has a copy."),
			column("In Sync", "string", status(allotv1alpha1.ConditionInSync),
				"Whether each selected namespace has a copy of the current spec."),
			reason,
			age(),
		},
	}
}

const schedulingModels = "io.k8s.api.scheduling.v1beta1."

// podGroups is allot.dev's version of upstream's kind. It has no composite groups and no
// cluster-wide templates: no server that needs this kind has those.
func podGroups() kind {
	return kind{
		object: scheduling.PodGroup{}, name: "PodGroup", resource: allotv1alpha1.PodGroups.Resource, singular: "podgroup",
		shortNames: []string{"apg"},
		scope:      apiextensionsv1.NamespaceScoped, status: true, limits: groupLimits(),
		without: []string{
			schedulingModels + "PodGroupSpec.parentCompositePodGroupName",
			schedulingModels + "PodGroupResourceClaim.clusterResourceClaimTemplateName",
		},
		columns: []apiextensionsv1.CustomResourceColumnDefinition{
			column("Min", "integer", ".spec.schedulingPolicy.gang.minCount", "Pods that must be scheduled together."),
			column("Scheduled", "string",
				`.status.conditions[?(@.type=="`+schedulingv1beta1.PodGroupInitiallyScheduled+`")].status`,
				"Whether the group is scheduled."),
			age(),
		},
	}
}

func workloads() kind {
	return kind{
		object: scheduling.Workload{}, name: "Workload", resource: allotv1alpha1.Workloads.Resource, singular: "workload",
		shortNames: []string{"awl"},
		scope:      apiextensionsv1.NamespaceScoped, limits: workloadLimits(),
		without: []string{
			schedulingModels + "WorkloadSpec.compositePodGroupTemplates",
			schedulingModels + "PodGroupResourceClaim.clusterResourceClaimTemplateName",
		},
		columns: []apiextensionsv1.CustomResourceColumnDefinition{age()},
	}
}

// commonLimits returns the limits that PodGroups and templates of PodGroups have in common.
func commonLimits(of string) map[string]limit {
	name := limit{maxLength: 63, pattern: label}
	domain := limit{maxLength: 253, pattern: subdomain}
	one := 1.0
	return map[string]limit{
		schedulingModels + "GangSchedulingPolicy.minCount": {minimum: &one},
		schedulingModels + "PodGroupSchedulingPolicy": {rules: []rule{{
			"has(self.basic) != has(self.gang)", "exactly one of basic and gang must be set",
		}}},
		schedulingModels + of + ".resourceClaims": {
			maxItems: schedulingv1beta1.MaxPodGroupResourceClaims,
			mapKey:   "name",
		},
		schedulingModels + "PodGroupResourceClaim.name":                      name,
		schedulingModels + "PodGroupResourceClaim.resourceClaimName":         domain,
		schedulingModels + "PodGroupResourceClaim.resourceClaimTemplateName": domain,
		schedulingModels + "PodGroupResourceClaim": {rules: []rule{{
			"has(self.resourceClaimName) != has(self.resourceClaimTemplateName)",
			"exactly one of resourceClaimName and resourceClaimTemplateName must be set",
		}}},
	}
}

func groupLimits() map[string]limit {
	all := commonLimits("PodGroupSpec")
	all[schedulingModels+"PodGroupSpec"] = limit{rules: []rule{{
		"has(self.schedulingPolicy.gang) == has(oldSelf.schedulingPolicy.gang)", "the kind of the policy is immutable",
	}}}
	for _, property := range []string{"resourceClaims", "workloadRef", "schedulingConstraints", "disruptionMode",
		"priorityClassName", "priority", "preemptionPolicy"} {
		l := all[schedulingModels+"PodGroupSpec."+property]
		l.rules = append(l.rules, rule{"self == oldSelf", "is immutable"})
		all[schedulingModels+"PodGroupSpec."+property] = l
	}
	all[schedulingModels+"PodGroupStatus.conditions"] = limit{mapKey: "type"}
	return all
}

func workloadLimits() map[string]limit {
	all := commonLimits("PodGroupTemplate")
	all[schedulingModels+"WorkloadSpec.podGroupTemplates"] = limit{
		maxItems: schedulingv1beta1.WorkloadMaxPodGroupTemplates,
		mapKey:   "name",
	}
	all[schedulingModels+"PodGroupTemplate.name"] = limit{maxLength: 63, pattern: label}
	return all
}

func (k kind) definition(schema *apiextensionsv1.JSONSchemaProps) apiextensionsv1.CustomResourceDefinitionSpec {
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: allotv1alpha1.SchemeGroupVersion.Version, Served: true, Storage: true,
		Schema:                   &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
		AdditionalPrinterColumns: k.columns,
	}
	if k.status {
		version.Subresources = &apiextensionsv1.CustomResourceSubresources{
			Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
		}
	}
	return apiextensionsv1.CustomResourceDefinitionSpec{
		Group: allotv1alpha1.GroupName,
		Scope: k.scope,
		Names: apiextensionsv1.CustomResourceDefinitionNames{
			Kind: k.name, ListKind: k.name + "List", Plural: k.resource, Singular: k.singular, ShortNames: k.shortNames,
		},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
	}
}

// manifest is a CustomResourceDefinition without the status.
type manifest struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        map[string]string                            `json:"metadata"`
	Spec            apiextensionsv1.CustomResourceDefinitionSpec `json:"spec"`
}
