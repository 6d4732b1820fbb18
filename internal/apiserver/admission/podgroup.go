package admission

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// podGroup completes a new PodGroup: its priority, and the scheduling policy of its template if it
// has none (R4).
func (c *Chain) podGroup(ctx context.Context, a admission.Attributes, group *scheduling.PodGroup) error {
	spec := &group.Spec
	if err := groupPriority(ctx, c, a, &spec.PriorityClassName, &spec.Priority, &spec.PreemptionPolicy); err != nil {
		return err
	}
	if group.Spec.SchedulingPolicy.Basic != nil || group.Spec.SchedulingPolicy.Gang != nil ||
		group.Spec.WorkloadRef == nil {
		return nil
	}
	return c.takePolicy(ctx, a, group)
}

// takePolicy copies the policy, and nothing else, from the template that the group names.
func (c *Chain) takePolicy(ctx context.Context, a admission.Attributes, group *scheduling.PodGroup) error {
	ref := group.Spec.WorkloadRef
	workload, ok, err := c.reader.Workload(ctx, a.GetNamespace(), ref.WorkloadName)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("workload %s/%s: %w", a.GetNamespace(), ref.WorkloadName, err))
	}
	paths := refPathsOf(ctx)
	if !ok {
		return invalidGroup(group, field.NotFound(paths.workload, ref.WorkloadName))
	}
	for i := range workload.Spec.PodGroupTemplates {
		if t := &workload.Spec.PodGroupTemplates[i]; t.Name == ref.TemplateName {
			t.SchedulingPolicy.DeepCopyInto(&group.Spec.SchedulingPolicy)
			return nil
		}
	}
	return invalidGroup(group, field.NotFound(paths.template, ref.TemplateName))
}

func invalidGroup(group *scheduling.PodGroup, err *field.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PodGroup"}, group.Name,
		field.ErrorList{err})
}

// refPaths has the paths of a PodGroup's reference to its template, in the version of the request.
type refPaths struct {
	workload, template *field.Path
}

func refPathsOf(ctx context.Context) refPaths {
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok && info.APIVersion == "v1alpha2" {
		ref := field.NewPath("spec", "podGroupTemplateRef", "workload")
		return refPaths{workload: ref.Child("workloadName"), template: ref.Child("podGroupTemplateName")}
	}
	ref := field.NewPath("spec", "workloadRef")
	return refPaths{workload: ref.Child("workloadName"), template: ref.Child("templateName")}
}
