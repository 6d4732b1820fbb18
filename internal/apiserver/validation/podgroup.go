package validation

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// ValidatePodGroup checks a new PodGroup (R4).
func ValidatePodGroup(group *scheduling.PodGroup) field.ErrorList {
	return append(metadata(&group.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		podGroupSpec(field.NewPath("spec"), &group.Spec)...)
}

func podGroupSpec(path *field.Path, spec *scheduling.PodGroupSpec) field.ErrorList {
	errs := join(
		policy(path.Child("schedulingPolicy"), &spec.SchedulingPolicy),
		constraints(path.Child("schedulingConstraints"), spec.SchedulingConstraints),
		groupClaims(path.Child("resourceClaims"), spec.ResourceClaims),
		disruptionMode(path.Child("disruptionMode"), spec.DisruptionMode),
		groupPriority(path, spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy),
	)
	if parent := spec.ParentCompositePodGroupName; parent != nil {
		errs = append(errs, wellFormed(path.Child("parentCompositePodGroupName"), *parent, isSubdomain)...)
		if spec.WorkloadRef == nil {
			errs = append(errs, field.Required(path.Child("workloadRef"), "must be set when parentCompositePodGroupName is set"))
		}
	}
	if ref := spec.WorkloadRef; ref != nil {
		at := path.Child("workloadRef")
		errs = append(errs, dnsSubdomain(at.Child("workloadName"), ref.WorkloadName)...)
		errs = append(errs, dnsLabel(at.Child("templateName"), ref.TemplateName)...)
	}
	return errs
}

// ValidatePodGroupUpdate checks a change of a PodGroup. In the spec, only gang.minCount may change,
// and only to another number.
func ValidatePodGroupUpdate(group, old *scheduling.PodGroup) field.ErrorList {
	path := field.NewPath("spec")
	now, before := &group.Spec, &old.Spec
	errs := join(
		metadataUpdate(&group.ObjectMeta, &old.ObjectMeta),
		immutableField(path.Child("parentCompositePodGroupName"), now.ParentCompositePodGroupName, before.ParentCompositePodGroupName),
		immutableField(path.Child("workloadRef"), now.WorkloadRef, before.WorkloadRef),
		immutableField(path.Child("schedulingConstraints"), now.SchedulingConstraints, before.SchedulingConstraints),
		immutableField(path.Child("resourceClaims"), now.ResourceClaims, before.ResourceClaims),
		immutableField(path.Child("disruptionMode"), now.DisruptionMode, before.DisruptionMode),
		immutableField(path.Child("priorityClassName"), now.PriorityClassName, before.PriorityClassName),
		immutableField(path.Child("priority"), now.Priority, before.Priority),
		immutableField(path.Child("preemptionPolicy"), now.PreemptionPolicy, before.PreemptionPolicy),
	)
	return append(errs, policyUpdate(path.Child("schedulingPolicy"), &now.SchedulingPolicy, &before.SchedulingPolicy)...)
}

func policyUpdate(path *field.Path, now, before *schedulingv1beta1.PodGroupSchedulingPolicy) field.ErrorList {
	kind := join(
		immutableField(path.Child("basic"), now.Basic, before.Basic),
		check((now.Gang == nil) == (before.Gang == nil), path.Child("gang"), now.Gang, immutable),
	)
	if len(kind) > 0 {
		kind = append(kind, onePolicy(path, now)...)
	}
	if now.Gang == nil || before.Gang == nil || *now.Gang == *before.Gang {
		return kind
	}
	return append(kind, gang(path.Child("gang"), now.Gang)...)
}

// ValidatePodGroupStatusUpdate checks the status that the scheduler and controllers report.
func ValidatePodGroupStatusUpdate(group, old *scheduling.PodGroup) field.ErrorList {
	path := field.NewPath("status")
	return join(
		metadataUpdate(&group.ObjectMeta, &old.ObjectMeta),
		metav1validation.ValidateConditions(group.Status.Conditions, path.Child("conditions")),
		groupClaimStatuses(path.Child("resourceClaimStatuses"), group.Status.ResourceClaimStatuses,
			group.Spec.ResourceClaims),
	)
}

// groupClaimStatuses checks the names of the claims that were generated for the entries of a PodGroup
// or CompositePodGroup.
func groupClaimStatuses(
	path *field.Path, statuses []schedulingv1beta1.PodGroupResourceClaimStatus, entries []scheduling.PodGroupResourceClaim,
) field.ErrorList {
	known := make(map[string]bool, len(entries))
	for i := range entries {
		known[entries[i].Name] = true
	}
	type status = schedulingv1beta1.PodGroupResourceClaimStatus
	return join(
		atMost(path, len(statuses), scheduling.MaxPodGroupResourceClaims),
		each(path, statuses, func(at *field.Path, s *status) field.ErrorList {
			return check(known[s.Name], at.Child("name"), s.Name, "must be the name of an entry in `spec.resourceClaims`")
		}),
		eachUpTo(path, statuses, scheduling.MaxPodGroupResourceClaims, func(at *field.Path, s *status) field.ErrorList {
			return pointerForm(at.Child("resourceClaimName"), s.ResourceClaimName, validation.IsDNS1123Subdomain)
		}),
		when(len(statuses) <= scheduling.MaxPodGroupResourceClaims, func() field.ErrorList {
			return distinct(path, statuses, "", func(s *status) string { return s.Name })
		}),
	)
}

func onePolicy(path *field.Path, p *schedulingv1beta1.PodGroupSchedulingPolicy) field.ErrorList {
	return union(path, member{"basic", p.Basic != nil}, member{"gang", p.Gang != nil})
}

func policy(path *field.Path, p *schedulingv1beta1.PodGroupSchedulingPolicy) field.ErrorList {
	errs := onePolicy(path, p)
	if p.Gang != nil {
		errs = append(errs, gang(path.Child("gang"), p.Gang)...)
	}
	return errs
}

func gang(path *field.Path, g *schedulingv1beta1.GangSchedulingPolicy) field.ErrorList {
	if g.MinCount == 0 {
		return errorList(field.Required(path.Child("minCount"), "must be greater than or equal to 1"))
	}
	return check(g.MinCount >= 1, path.Child("minCount"), g.MinCount, "must be greater than or equal to 1")
}

func constraints(path *field.Path, c *schedulingv1beta1.PodGroupSchedulingConstraints) field.ErrorList {
	if c == nil {
		return nil
	}
	at := path.Child("topology")
	return append(atMost(at, len(c.Topology), 1),
		eachUpTo(at, c.Topology, 1, func(at *field.Path, t *schedulingv1beta1.TopologyConstraint) field.ErrorList {
			return labelKey(at.Child("key"), t.Key)
		})...)
}

// groupClaims checks the claims of a PodGroup or of a template for PodGroups (R5).
func groupClaims(path *field.Path, claims []scheduling.PodGroupResourceClaim) field.ErrorList {
	return join(
		atMost(path, len(claims), scheduling.MaxPodGroupResourceClaims),
		eachUpTo(
			path,
			claims,
			scheduling.MaxPodGroupResourceClaims,
			func(at *field.Path, c *scheduling.PodGroupResourceClaim) field.ErrorList {
				return join(
					dnsLabel(at.Child("name"), c.Name),
					union(at,
						member{"resourceClaimName", c.ResourceClaimName != nil},
						member{"resourceClaimTemplateName", c.ResourceClaimTemplateName != nil},
						member{"clusterResourceClaimTemplateName", c.ClusterResourceClaimTemplateName != nil},
					),
					pointerForm(at.Child("resourceClaimName"), c.ResourceClaimName, validation.IsDNS1123Subdomain),
					pointerForm(at.Child("resourceClaimTemplateName"), c.ResourceClaimTemplateName, validation.IsDNS1123Subdomain),
					pointerForm(at.Child("clusterResourceClaimTemplateName"), c.ClusterResourceClaimTemplateName,
						validation.IsDNS1123Subdomain),
				)
			},
		),
		when(len(claims) <= scheduling.MaxPodGroupResourceClaims, func() field.ErrorList {
			return distinct(path, claims, "", func(c *scheduling.PodGroupResourceClaim) string { return c.Name })
		}),
	)
}

// disruptionMode checks the disruption mode. It may be absent: a PodGroup stored in an older
// version has none.
func disruptionMode(path *field.Path, mode *schedulingv1beta1.DisruptionMode) field.ErrorList {
	if mode == nil {
		return nil
	}
	return union(path, member{"single", mode.Single != nil}, member{"all", mode.All != nil})
}

func groupPriority(
	path *field.Path, class string, priority *int32, preemption *schedulingv1beta1.PreemptionPolicy,
) field.ErrorList {
	errs := join(
		optionalForm(path.Child("priorityClassName"), class, validation.IsDNS1123Subdomain),
		optionalSupported(path.Child("preemptionPolicy"), preemption, schedulingv1beta1.PreemptLowerPriority,
			schedulingv1beta1.PreemptNever),
	)
	_, system := systemPriorities()[class]
	if priority != nil && !system {
		errs = append(
			errs,
			check(*priority <= maxUserPriority, path.Child("priority"), *priority,
				"must be less than or equal to 1000000000")...)
	}
	return errs
}
