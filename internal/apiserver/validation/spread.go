package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func topologySpread(path *field.Path, list []corev1.TopologySpreadConstraint) field.ErrorList {
	policies := []corev1.NodeInclusionPolicy{corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore}
	return join(
		each(path, list, func(at *field.Path, c *corev1.TopologySpreadConstraint) field.ErrorList {
			errs := join(
				check(c.MaxSkew > 0, at.Child("maxSkew"), c.MaxSkew, positive),
				required(at.Child("topologyKey"), c.TopologyKey),
				supported(at.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway),
				optionalSupported(at.Child("nodeAffinityPolicy"), c.NodeAffinityPolicy, policies...),
				optionalSupported(at.Child("nodeTaintsPolicy"), c.NodeTaintsPolicy, policies...),
				labelSelector(at.Child("labelSelector"), c.LabelSelector),
				matchLabelKeys(at, "matchLabelKeys", c.MatchLabelKeys, c.LabelSelector),
				keysOnce(at.Child("matchLabelKeys"), c.MatchLabelKeys, c.LabelSelector),
			)
			if c.MinDomains != nil {
				errs = append(errs, check(*c.MinDomains > 0, at.Child("minDomains"), *c.MinDomains, positive)...)
				if c.WhenUnsatisfiable != corev1.DoNotSchedule {
					errs = append(
						errs,
						field.Invalid(at.Child("minDomains"), *c.MinDomains,
							"may only be set where `whenUnsatisfiable` is DoNotSchedule"),
					)
				}
			}
			return errs
		}),
		unique(path, list, "", func(c *corev1.TopologySpreadConstraint) string {
			return "{" + c.TopologyKey + ", " + string(c.WhenUnsatisfiable) + "}"
		}),
	)
}
