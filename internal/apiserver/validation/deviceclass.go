package validation

import (
	resourcev1 "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateDeviceClass checks a new DeviceClass.
func ValidateDeviceClass(class *resourcev1.DeviceClass) field.ErrorList {
	return append(
		metadata(&class.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain),
		classSpec(&class.Spec, nil)...)
}

// ValidateDeviceClassUpdate checks a change of a class. Unchanged parts were valid when they were
// stored, and are not checked again.
func ValidateDeviceClassUpdate(class, old *resourcev1.DeviceClass) field.ErrorList {
	return append(
		metadataAgain(&class.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		classSpec(&class.Spec, &old.Spec)...)
}

func classSpec(spec, old *resourcev1.DeviceClassSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := declared(resourcev1.Validate_DeviceClassSpec, path, spec, old)
	if old == nil || !isUnchanged(spec.Selectors, old.Selectors) {
		errs = append(errs, selectors(path.Child("selectors"), spec.Selectors)...)
	}
	if old == nil || !isUnchanged(spec.Config, old.Config) {
		errs = append(
			errs,
			eachUpTo(
				path.Child("config"),
				spec.Config,
				resourcev1.DeviceConfigMaxSize,
				func(at *field.Path, c *resourcev1.DeviceClassConfiguration) field.ErrorList {
					return deviceConfiguration(at, &c.DeviceConfiguration)
				},
			)...)
	}
	return errs
}
