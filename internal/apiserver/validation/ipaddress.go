package validation

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateIPAddress checks a new IPAddress, whose name is an address in its usual form.
func ValidateIPAddress(a *networkingv1.IPAddress) field.ErrorList {
	errs := metadata(&a.ObjectMeta, clusterScoped, func(name string, _ bool) []string {
		var out []string
		for _, fault := range validation.IsValidIP(nil, name) {
			out = append(out, fault.Detail)
		}
		return out
	})
	path := field.NewPath("spec", "parentRef")
	if a.Spec.ParentRef == nil {
		return append(errs, field.Required(path, ""))
	}
	parent := a.Spec.ParentRef
	return join(errs,
		optionalForm(path.Child("group"), parent.Group, validation.IsDNS1123Subdomain),
		parentPart(path.Child("resource"), parent.Resource),
		parentPart(path.Child("name"), parent.Name),
		when(parent.Namespace != "", func() field.ErrorList { return pathSegment(path.Child("namespace"), parent.Namespace) }),
	)
}

func parentPart(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return errorList(field.Required(path, ""))
	}
	return pathSegment(path, value)
}

// ValidateIPAddressUpdate checks a change of an IPAddress. Its parent is immutable.
func ValidateIPAddressUpdate(a, old *networkingv1.IPAddress) field.ErrorList {
	return join(
		ValidateIPAddress(a),
		metadataUpdate(&a.ObjectMeta, &old.ObjectMeta),
		immutableField(field.NewPath("spec", "parentRef"), a.Spec.ParentRef, old.Spec.ParentRef),
	)
}
