package validation

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// ValidateLease checks a new Lease.
func ValidateLease(lease *coordinationv1.Lease) field.ErrorList {
	return append(
		objectMeta(&lease.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		leaseSpec(field.NewPath("spec"), &lease.Spec)...)
}

// ValidateLeaseUpdate checks a renewal or a change of the holder.
func ValidateLeaseUpdate(lease, old *coordinationv1.Lease) field.ErrorList {
	return append(objectMetaUpdate(&lease.ObjectMeta, &old.ObjectMeta), leaseSpec(field.NewPath("spec"), &lease.Spec)...)
}

func leaseSpec(path *field.Path, spec *coordinationv1.LeaseSpec) field.ErrorList {
	errs := nonNegative(path.Child("leaseTransitions"), ptr.Deref(spec.LeaseTransitions, 0))
	if seconds := spec.LeaseDurationSeconds; seconds != nil {
		errs = append(errs, check(*seconds > 0, path.Child("leaseDurationSeconds"), *seconds, positive)...)
	}
	strategy := ptr.Deref(spec.Strategy, "")
	switch {
	case strategy == "":
		if ptr.Deref(spec.PreferredHolder, "") != "" {
			errs = append(errs, field.Forbidden(path.Child("preferredHolder"), "may only be set together with `strategy`"))
		}
	case !containsSlash(string(strategy)):
		errs = append(errs, oneOf(path.Child("strategy"), strategy, coordinationv1.OldestEmulationVersion)...)
	default:
		errs = append(errs, requiredForm(path.Child("strategy"), string(strategy), validation.IsQualifiedName)...)
	}
	return errs
}
