package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// jobScheduling checks the scheduling configuration of a Job, or of the Jobs of a CronJob. Only
// gang.minCount may change, because the Workload and the PodGroup created from it are immutable
// otherwise.
func jobScheduling(path *field.Path, spec, old *batch.JobSpec) field.ErrorList {
	now := spec.Scheduling
	var errs field.ErrorList
	if now != nil {
		errs = join(
			gangWithinParallelism(path.Child("schedulingPolicy", "gang", "minCount"), spec),
			basicDisruption(path.Child("disruptionMode"), now),
		)
	}
	if old != nil && (now == nil) != (old.Scheduling == nil) {
		return append(errs, field.Invalid(path, nil, "may not be added or removed"))
	}
	if now == nil {
		return errs
	}
	var before *batchv1.JobSchedulingConfiguration
	if old != nil {
		before = old.Scheduling
	}
	return join(errs, jobPolicy(path.Child("schedulingPolicy"), now, before), schedulingBlocks(path, now, before))
}

func gangWithinParallelism(path *field.Path, spec *batch.JobSpec) field.ErrorList {
	policy := spec.Scheduling.SchedulingPolicy
	if policy == nil || policy.Gang == nil || policy.Gang.MinCount == nil {
		return nil
	}
	parallelism := ptr.Deref(spec.Parallelism, 1)
	return check(*policy.Gang.MinCount <= parallelism, path, *policy.Gang.MinCount,
		fmt.Sprintf("must be less than or equal to `parallelism` (%d)", parallelism))
}

// jobPolicy checks the policy. The default is Basic, which is never stored.
func jobPolicy(path *field.Path, scheduling, before *batchv1.JobSchedulingConfiguration) field.ErrorList {
	now := scheduling.SchedulingPolicy
	if before != nil && (now == nil) != (before.SchedulingPolicy == nil) {
		return errorList(field.Invalid(path, nil, "may not be added or removed"))
	}
	if now == nil {
		return nil
	}
	var old *schedulingv1alpha3.WorkloadPodGroupSchedulingPolicy
	if before != nil {
		old = before.SchedulingPolicy
	}
	return declared(schedulingv1alpha3.Validate_WorkloadPodGroupSchedulingPolicy, path, now, old)
}

// jobPolicyUpdate checks that the policy of a Job stays of one kind. That of the Jobs of a CronJob
// may change.
func jobPolicyUpdate(path *field.Path, now, before *batchv1.JobSchedulingConfiguration) field.ErrorList {
	if now == nil || before == nil || now.SchedulingPolicy == nil || before.SchedulingPolicy == nil {
		return nil
	}
	if (before.SchedulingPolicy.Basic != nil) != (now.SchedulingPolicy.Basic != nil) {
		return errorList(field.Invalid(path, nil, "may not change between `basic` and `gang`"))
	}
	return nil
}

// schedulingBlocks checks that the other parts do not change.
func schedulingBlocks(path *field.Path, now, before *batchv1.JobSchedulingConfiguration) field.ErrorList {
	if before != nil {
		return join(
			immutableField(path.Child("schedulingConstraints"), now.SchedulingConstraints, before.SchedulingConstraints),
			immutableField(path.Child("disruptionMode"), now.DisruptionMode, before.DisruptionMode),
			immutableField(path.Child("resourceClaims"), now.ResourceClaims, before.ResourceClaims),
		)
	}
	var errs field.ErrorList
	if c := now.SchedulingConstraints; c != nil {
		errs = append(
			errs,
			declared(schedulingv1alpha3.Validate_WorkloadPodGroupSchedulingConstraints, path.Child("schedulingConstraints"), c,
				nil)...)
	}
	if m := now.DisruptionMode; m != nil {
		errs = append(
			errs,
			declared(schedulingv1alpha3.Validate_WorkloadPodGroupDisruptionMode, path.Child("disruptionMode"), m, nil)...)
	}
	claims := path.Child("resourceClaims")
	return append(errs, join(
		atMost(claims, len(now.ResourceClaims), scheduling.MaxPodGroupResourceClaims),
		eachUpTo(
			claims,
			now.ResourceClaims,
			scheduling.MaxPodGroupResourceClaims,
			func(at *field.Path, c *schedulingv1alpha3.WorkloadPodGroupResourceClaim) field.ErrorList {
				return declared(schedulingv1alpha3.Validate_WorkloadPodGroupResourceClaim, at, c, nil)
			},
		),
		distinct(claims, now.ResourceClaims, "",
			func(c *schedulingv1alpha3.WorkloadPodGroupResourceClaim) string { return c.Name }),
	)...)
}

// basicDisruption rejects disruption of all pods together if the pods are scheduled one by one.
func basicDisruption(path *field.Path, s *batchv1.JobSchedulingConfiguration) field.ErrorList {
	basic := s.SchedulingPolicy == nil || s.SchedulingPolicy.Basic != nil || s.SchedulingPolicy.Gang == nil
	if mode := s.DisruptionMode; basic && mode != nil && mode.All != nil && mode.Single == nil {
		return errorList(field.Invalid(path, "", "`all` needs the scheduling policy `gang`"))
	}
	return nil
}
