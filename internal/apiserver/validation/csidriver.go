package validation

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	minAllocatableUpdateSeconds = 10
	minDriverTokenSeconds       = 10 * 60
	maxDriverTokenSeconds       = 1 << 32
)

// ValidateCSIDriver checks a new CSIDriver.
func ValidateCSIDriver(d *storagev1.CSIDriver) field.ErrorList {
	return append(metadata(&d.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain), driverSpec(&d.Spec)...)
}

// ValidateCSIDriverUpdate checks a change of a CSIDriver.
func ValidateCSIDriverUpdate(d, old *storagev1.CSIDriver) field.ErrorList {
	path := field.NewPath("spec")
	return join(
		metadataUpdate(&d.ObjectMeta, &old.ObjectMeta),
		driverSpec(&d.Spec),
		immutableField(path.Child("attachedRequired"), d.Spec.AttachRequired, old.Spec.AttachRequired),
		immutableField(path.Child("volumeLifecycleModes"), d.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes),
	)
}

func driverSpec(spec *storagev1.CSIDriverSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := join(
		present(path.Child("attachedRequired"), spec.AttachRequired), // Kubernetes reports this name
		present(path.Child("podInfoOnMount"), spec.PodInfoOnMount),
		present(path.Child("storageCapacity"), spec.StorageCapacity),
		present(path.Child("seLinuxMount"), spec.SELinuxMount),
		present(path.Child("preventPodSchedulingIfMissing"), spec.PreventPodSchedulingIfMissing),
		optionalSupported(path.Child("fsGroupPolicy"), spec.FSGroupPolicy, storagev1.FileFSGroupPolicy,
			storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy),
		driverTokens(path.Child("tokenRequests"), spec.TokenRequests),
	)
	for _, mode := range spec.VolumeLifecycleModes {
		errs = append(errs, supported(path.Child("volumeLifecycleModes"), mode, storagev1.VolumeLifecyclePersistent,
			storagev1.VolumeLifecycleEphemeral)...)
	}
	if period := spec.NodeAllocatableUpdatePeriodSeconds; period != nil {
		errs = append(errs, check(*period >= minAllocatableUpdateSeconds, path.Child("nodeAllocatableUpdatePeriodSeconds"),
			*period, "must be greater than or equal to 10 seconds")...)
	}
	if secrets := spec.ServiceAccountTokenInSecrets; secrets != nil {
		errs = append(errs, check(len(spec.TokenRequests) > 0, path.Child("serviceAccountTokenInSecrets"), *secrets,
			"serviceAccountTokenInSecrets is set but no tokenRequests are specified")...)
	}
	return errs
}

// present checks a field that defaults set.
func present(path *field.Path, value *bool) field.ErrorList {
	if value != nil {
		return nil
	}
	return errorList(field.Required(path, ""))
}

func driverTokens(path *field.Path, requests []storagev1.TokenRequest) field.ErrorList {
	audiences := map[string]bool{}
	return each(path, requests, func(at *field.Path, r *storagev1.TokenRequest) field.ErrorList {
		if audiences[r.Audience] {
			return errorList(field.Duplicate(at.Child("audience"), r.Audience))
		}
		audiences[r.Audience] = true
		if r.ExpirationSeconds == nil {
			return nil
		}
		seconds, path := *r.ExpirationSeconds, at.Child("expirationSeconds")
		return join(
			check(seconds >= minDriverTokenSeconds, path, seconds, "may not specify a duration less than 10 minutes"),
			check(seconds <= maxDriverTokenSeconds, path, seconds, "may not specify a duration larger than 2^32 seconds"),
		)
	})
}

// CSIDriverWarnings returns a warning about requests for tokens that are not in Secrets.
func CSIDriverWarnings(d, old *storagev1.CSIDriver) []string {
	if len(d.Spec.TokenRequests) == 0 || d.Spec.ServiceAccountTokenInSecrets != nil ||
		old != nil && equality.Semantic.DeepEqual(d.Spec.TokenRequests, old.Spec.TokenRequests) {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true " +
		"to prevent possible logging of tokens in volume attributes"}
}
