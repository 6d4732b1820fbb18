package v1alpha2

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/allot-dev/allot/api/internal/converters"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// SchemeGroupVersion is the group version that this package implements.
var SchemeGroupVersion = schema.GroupVersion{Group: schedulingv1beta1.GroupName, Version: "v1alpha2"}

// AddToScheme registers the kinds of v1alpha2 and their conversions to and from
// the hub.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &Workload{}, &WorkloadList{}, &PodGroup{}, &PodGroupList{})
	return converters.Add(
		scheme,
		converters.Between(converters.Unscoped(PodGroupToHub), converters.Unscoped(PodGroupFromHub)),
		converters.Between(podGroupListToHub, podGroupListFromHub),
		converters.Between(converters.Unscoped(WorkloadToHub), converters.Unscoped(WorkloadFromHub)),
		converters.Between(workloadListToHub, workloadListFromHub),
	)
}

// PodGroupToHub converts a PodGroup to the stored version. A podGroupTemplateRef with both forms
// and different names becomes an invalid one.
func PodGroupToHub(in *PodGroup, out *scheduling.PodGroup) error {
	out.ObjectMeta = in.ObjectMeta
	out.Status = in.Status
	out.Spec = scheduling.PodGroupSpec{
		WorkloadRef:           templateRefToHub(in.Spec.PodGroupTemplateRef),
		SchedulingPolicy:      in.Spec.SchedulingPolicy,
		SchedulingConstraints: in.Spec.SchedulingConstraints,
		ResourceClaims:        claimsToHub(in.Spec.ResourceClaims),
		DisruptionMode:        disruptionToHub(in.Spec.DisruptionMode),
		PriorityClassName:     in.Spec.PriorityClassName,
		Priority:              in.Spec.Priority,
		PreemptionPolicy:      in.Spec.PreemptionPolicy,

		ParentCompositePodGroupName: in.Spec.ParentCompositePodGroupName,
	}
	return nil
}

// PodGroupFromHub converts a stored PodGroup to this version. It returns an error for fields that
// this version does not have.
func PodGroupFromHub(in *scheduling.PodGroup, out *PodGroup) error {
	out.ObjectMeta = in.ObjectMeta
	out.Status = in.Status
	out.Spec = PodGroupSpec{
		PodGroupTemplateRef:   templateRefFromHub(in.Spec.WorkloadRef),
		SchedulingPolicy:      in.Spec.SchedulingPolicy,
		SchedulingConstraints: in.Spec.SchedulingConstraints,
		ResourceClaims:        claimsFromHub(in.Spec.ResourceClaims),
		DisruptionMode:        disruptionFromHub(in.Spec.DisruptionMode),
		PriorityClassName:     in.Spec.PriorityClassName,
		Priority:              in.Spec.Priority,
		PreemptionPolicy:      in.Spec.PreemptionPolicy,

		ParentCompositePodGroupName: in.Spec.ParentCompositePodGroupName,
	}
	return nil
}

// WorkloadToHub converts a Workload to the stored version.
func WorkloadToHub(in *Workload, out *scheduling.Workload) error {
	out.ObjectMeta = in.ObjectMeta
	out.Spec = scheduling.WorkloadSpec{
		ControllerRef:              in.Spec.ControllerRef,
		PodGroupTemplates:          convertList(in.Spec.PodGroupTemplates, templateToHub),
		CompositePodGroupTemplates: convertList(in.Spec.CompositePodGroupTemplates, compositeToHub),
	}
	return nil
}

// WorkloadFromHub converts a stored Workload to this version.
func WorkloadFromHub(in *scheduling.Workload, out *Workload) error {
	out.ObjectMeta = in.ObjectMeta
	out.Spec = WorkloadSpec{
		ControllerRef:              in.Spec.ControllerRef,
		PodGroupTemplates:          convertList(in.Spec.PodGroupTemplates, templateFromHub),
		CompositePodGroupTemplates: convertList(in.Spec.CompositePodGroupTemplates, compositeFromHub),
	}
	return nil
}

func templateToHub(t *PodGroupTemplate) scheduling.PodGroupTemplate {
	return scheduling.PodGroupTemplate{
		Name:                  t.Name,
		SchedulingPolicy:      t.SchedulingPolicy,
		SchedulingConstraints: t.SchedulingConstraints,
		ResourceClaims:        claimsToHub(t.ResourceClaims),
		DisruptionMode:        disruptionToHub(t.DisruptionMode),
		PriorityClassName:     t.PriorityClassName,
		Priority:              t.Priority,
		PreemptionPolicy:      t.PreemptionPolicy,
	}
}

func templateFromHub(t *scheduling.PodGroupTemplate) PodGroupTemplate {
	return PodGroupTemplate{
		Name:                  t.Name,
		SchedulingPolicy:      t.SchedulingPolicy,
		SchedulingConstraints: t.SchedulingConstraints,
		ResourceClaims:        claimsFromHub(t.ResourceClaims),
		DisruptionMode:        disruptionFromHub(t.DisruptionMode),
		PriorityClassName:     t.PriorityClassName,
		Priority:              t.Priority,
		PreemptionPolicy:      t.PreemptionPolicy,
	}
}

func compositeToHub(t *CompositePodGroupTemplate) scheduling.CompositePodGroupTemplate {
	return scheduling.CompositePodGroupTemplate{
		Name:                       t.Name,
		SchedulingPolicy:           t.SchedulingPolicy,
		SchedulingConstraints:      t.SchedulingConstraints,
		DisruptionMode:             t.DisruptionMode,
		PriorityClassName:          t.PriorityClassName,
		Priority:                   t.Priority,
		PreemptionPolicy:           t.PreemptionPolicy,
		PodGroupTemplates:          convertList(t.PodGroupTemplates, templateToHub),
		CompositePodGroupTemplates: convertList(t.CompositePodGroupTemplates, compositeToHub),
		ResourceClaims:             claimsToHub(t.ResourceClaims),
	}
}

func compositeFromHub(t *scheduling.CompositePodGroupTemplate) CompositePodGroupTemplate {
	return CompositePodGroupTemplate{
		Name:                       t.Name,
		SchedulingPolicy:           t.SchedulingPolicy,
		SchedulingConstraints:      t.SchedulingConstraints,
		DisruptionMode:             t.DisruptionMode,
		PriorityClassName:          t.PriorityClassName,
		Priority:                   t.Priority,
		PreemptionPolicy:           t.PreemptionPolicy,
		PodGroupTemplates:          convertList(t.PodGroupTemplates, templateFromHub),
		CompositePodGroupTemplates: convertList(t.CompositePodGroupTemplates, compositeFromHub),
		ResourceClaims:             claimsFromHub(t.ResourceClaims),
	}
}

// convertList converts the elements of a list.
func convertList[In, Out any](in []In, f func(*In) Out) []Out {
	if len(in) == 0 {
		return nil
	}
	out := make([]Out, len(in))
	for i := range in {
		out[i] = f(&in[i])
	}
	return out
}

// templateRefToHub converts either form of the reference, or both if they are equal.
func templateRefToHub(in *PodGroupTemplateReference) *schedulingv1beta1.WorkloadReference {
	switch {
	case in == nil:
		return nil
	case in.Workload == nil:
		return &schedulingv1beta1.WorkloadReference{WorkloadName: in.WorkloadName, TemplateName: in.PodGroupTemplateName}
	case in.WorkloadName == "" && in.PodGroupTemplateName == "":
		return &schedulingv1beta1.WorkloadReference{
			WorkloadName: in.Workload.WorkloadName,
			TemplateName: in.Workload.PodGroupTemplateName,
		}
	}
	return &schedulingv1beta1.WorkloadReference{
		WorkloadName: oneName(in.WorkloadName, in.Workload.WorkloadName),
		TemplateName: oneName(in.PodGroupTemplateName, in.Workload.PodGroupTemplateName),
	}
}

// oneName returns the name in both forms. Different names become an invalid name, so that
// validation rejects it with its path, which an error of the conversion would not have.
func oneName(a, b string) string {
	if a == b {
		return a
	}
	return a + " or " + b
}

func templateRefFromHub(in *schedulingv1beta1.WorkloadReference) *PodGroupTemplateReference {
	if in == nil {
		return nil
	}
	return &PodGroupTemplateReference{
		Workload: &WorkloadPodGroupTemplateReference{WorkloadName: in.WorkloadName, PodGroupTemplateName: in.TemplateName},
	}
}

func claimsToHub(in []PodGroupResourceClaim) []scheduling.PodGroupResourceClaim {
	if in == nil {
		return nil
	}
	out := make([]scheduling.PodGroupResourceClaim, len(in))
	for i, c := range in {
		out[i] = scheduling.PodGroupResourceClaim{
			PodGroupResourceClaim: schedulingv1beta1.PodGroupResourceClaim{
				Name:                      c.Name,
				ResourceClaimName:         c.ResourceClaimName,
				ResourceClaimTemplateName: c.ResourceClaimTemplateName,
			},
			ClusterResourceClaimTemplateName: c.ClusterResourceClaimTemplateName,
		}
	}
	return out
}

func claimsFromHub(in []scheduling.PodGroupResourceClaim) []PodGroupResourceClaim {
	if in == nil {
		return nil
	}
	out := make([]PodGroupResourceClaim, len(in))
	for i, c := range in {
		out[i] = PodGroupResourceClaim{
			Name:                             c.Name,
			ResourceClaimName:                c.ResourceClaimName,
			ResourceClaimTemplateName:        c.ResourceClaimTemplateName,
			ClusterResourceClaimTemplateName: c.ClusterResourceClaimTemplateName,
		}
	}
	return out
}

// disruptionToHub converts an unknown mode to an empty union, which validation rejects.
func disruptionToHub(in *DisruptionMode) *schedulingv1beta1.DisruptionMode {
	if in == nil {
		return nil
	}
	out := &schedulingv1beta1.DisruptionMode{}
	switch *in {
	case DisruptionModePod:
		out.Single = &schedulingv1beta1.SingleDisruptionMode{}
	case DisruptionModePodGroup:
		out.All = &schedulingv1beta1.AllDisruptionMode{}
	}
	return out
}

func disruptionFromHub(in *schedulingv1beta1.DisruptionMode) *DisruptionMode {
	if in == nil {
		return nil
	}
	mode := DisruptionModePod
	if in.All != nil {
		mode = DisruptionModePodGroup
	}
	return &mode
}

func podGroupListToHub(in *PodGroupList, out *scheduling.PodGroupList, scope conversion.Scope) error {
	out.ListMeta = in.ListMeta
	return converters.Items(in.Items, &out.Items, converters.Unscoped(PodGroupToHub), scope)
}

func podGroupListFromHub(in *scheduling.PodGroupList, out *PodGroupList, scope conversion.Scope) error {
	out.ListMeta = in.ListMeta
	return converters.Items(in.Items, &out.Items, converters.Unscoped(PodGroupFromHub), scope)
}

func workloadListToHub(in *WorkloadList, out *scheduling.WorkloadList, scope conversion.Scope) error {
	out.ListMeta = in.ListMeta
	return converters.Items(in.Items, &out.Items, converters.Unscoped(WorkloadToHub), scope)
}

func workloadListFromHub(in *scheduling.WorkloadList, out *WorkloadList, scope conversion.Scope) error {
	out.ListMeta = in.ListMeta
	return converters.Items(in.Items, &out.Items, converters.Unscoped(WorkloadFromHub), scope)
}
