package registry

import (
	"context"
	"slices"
	"strings"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	schedulingv1alpha2 "github.com/allot-dev/allot/api/scheduling/v1alpha2"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
	"github.com/allot-dev/allot/internal/features"
)

const schedulingGroup = "scheduling.k8s.io"

// workloadVersions are the versions of Workload and PodGroup; the first is stored.
var workloadVersions = []string{"v1beta1", "v1alpha3", "v1alpha2"}

func priorityClasses() entry {
	return &kind[schedulingv1.PriorityClass, *schedulingv1.PriorityClass]{
		names: names{
			group: schedulingGroup, versions: v1, plural: "priorityclasses", singular: "priorityclass",
			short: []string{"pc"}, cluster: true,
		},
		newList:       func() runtime.Object { return &schedulingv1.PriorityClassList{} },
		defaults:      defaults.PriorityClass,
		printer:       printers.PriorityClass,
		class:         rbac.Cluster,
		prepareCreate: func(_ context.Context, c *schedulingv1.PriorityClass) { c.Generation = 1 },

		validate:       validation.ValidatePriorityClass,
		validateUpdate: validation.ValidatePriorityClassUpdate,
	}
}

func workloads() entry {
	return &kind[scheduling.Workload, *scheduling.Workload]{
		names:        names{group: schedulingGroup, versions: workloadVersions, plural: "workloads", singular: "workload"},
		newList:      func() runtime.Object { return &scheduling.WorkloadList{} },
		defaults:     noDefaults[*scheduling.Workload],
		printer:      printers.Workload,
		class:        rbac.ReadWrite,
		gates:        []features.Gate{features.GenericWorkload},
		spec:         func(w *scheduling.Workload) any { return &w.Spec },
		generation:   true,
		needsVersion: true,

		keepsGeneration: true,

		validate:       validation.ValidateWorkload,
		validateUpdate: validation.ValidateWorkloadUpdate,
		fieldIn:        workloadField,
		prepareUpdate: func(_ context.Context, w, old *scheduling.Workload) {
			carryTemplateClaims(w.Spec.PodGroupTemplates, old.Spec.PodGroupTemplates)
			carryCompositeClaims(w.Spec.CompositePodGroupTemplates, old.Spec.CompositePodGroupTemplates)
		},
	}
}

// podGroups have the protection finalizer from the start, so that a PodGroup is never deleted while
// it has pods.
func podGroups() entry {
	return &kind[scheduling.PodGroup, *scheduling.PodGroup]{
		names:         names{group: schedulingGroup, versions: workloadVersions, plural: "podgroups", singular: "podgroup"},
		newList:       func() runtime.Object { return &scheduling.PodGroupList{} },
		defaults:      defaults.PodGroup,
		olderDefaults: []defaultFunc{defaultsOf(&schedulingv1alpha2.PodGroupList{}, defaults.PodGroupV1alpha2)},
		printer:       printers.PodGroup,
		class:         rbac.ReadWrite,
		gates:         []features.Gate{features.GenericWorkload},
		spec:          func(g *scheduling.PodGroup) any { return &g.Spec },
		status:        func(g *scheduling.PodGroup) any { return &g.Status },
		generation:    true,
		statusOnly:    true,
		needsVersion:  true,

		keepsGeneration: true,

		validate:       validation.ValidatePodGroup,
		validateUpdate: validation.ValidatePodGroupUpdate,
		validateStatus: validation.ValidatePodGroupStatusUpdate,
		fieldIn:        workloadField,
		prepareCreate: func(_ context.Context, g *scheduling.PodGroup) {
			if !slices.Contains(g.Finalizers, scheduling.ProtectionFinalizer) {
				g.Finalizers = append(g.Finalizers, scheduling.ProtectionFinalizer)
			}
		},
		prepareUpdate: updatePodGroup,
	}
}

// updatePodGroup restores fields that a client does not know, and defaults that a client omits when
// it sends its manifest again. A patch that removes such a field is intentional, and rejected.
func updatePodGroup(ctx context.Context, g, old *scheduling.PodGroup) {
	carryGroupClaims(g.Spec.ResourceClaims, old.Spec.ResourceClaims)
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok && info.Verb == "update" {
		refillPodGroup(&g.Spec, &old.Spec)
	}
}

// refillPodGroup restores fields set by admission. Without a template, the policy was set by the
// client.
func refillPodGroup(spec, old *scheduling.PodGroupSpec) {
	if spec.SchedulingPolicy.Basic == nil && spec.SchedulingPolicy.Gang == nil && old.WorkloadRef != nil {
		old.SchedulingPolicy.DeepCopyInto(&spec.SchedulingPolicy)
	}
	if spec.PriorityClassName == "" {
		spec.PriorityClassName = old.PriorityClassName
	}
	if spec.Priority == nil {
		spec.Priority = old.Priority
	}
	if spec.PreemptionPolicy == nil {
		spec.PreemptionPolicy = old.PreemptionPolicy
	}
}

// compositePodGroups are served in 1.37's alpha version alone.
func compositePodGroups() entry {
	return &kind[v1alpha3.CompositePodGroup, *v1alpha3.CompositePodGroup]{
		names: names{
			group: schedulingGroup, versions: []string{"v1alpha3"}, plural: "compositepodgroups", singular: "compositepodgroup",
		},
		newList:      func() runtime.Object { return &v1alpha3.CompositePodGroupList{} },
		defaults:     defaults.CompositePodGroup,
		printer:      printers.CompositePodGroup,
		class:        rbac.ReadWrite,
		gates:        []features.Gate{features.CompositePodGroup},
		spec:         func(g *v1alpha3.CompositePodGroup) any { return &g.Spec },
		status:       func(g *v1alpha3.CompositePodGroup) any { return &g.Status },
		generation:   true,
		statusOnly:   true,
		needsVersion: true,

		keepsGeneration: true,

		validate:       validation.ValidateCompositePodGroup,
		validateUpdate: validation.ValidateCompositePodGroupUpdate,
		validateStatus: validation.ValidateCompositePodGroupStatusUpdate,
		prepareUpdate: func(_ context.Context, g, old *v1alpha3.CompositePodGroup) {
			carryTreeClaims(&g.Spec, &old.Spec)
		},
	}
}

// workloadField converts a field name of a stored Workload or PodGroup to a version.
func workloadField(gv schema.GroupVersion, field string) string {
	if gv.Version != "v1alpha2" {
		return field
	}
	if rest, ok := strings.CutPrefix(field, "spec.workloadRef"); ok {
		return "spec.podGroupTemplateRef.workload" + strings.Replace(rest, ".templateName", ".podGroupTemplateName", 1)
	}
	if head, _, ok := strings.Cut(field, ".disruptionMode."); ok {
		return head + ".disruptionMode"
	}
	return field
}
