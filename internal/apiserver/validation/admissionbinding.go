package validation

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateValidatingAdmissionPolicyBinding checks a new ValidatingAdmissionPolicyBinding.
func ValidateValidatingAdmissionPolicyBinding(
	b *admissionregistrationv1.ValidatingAdmissionPolicyBinding,
) field.ErrorList {
	return join(objectMeta(&b.ObjectMeta, clusterScoped, admissionName), validatingBinding(&b.Spec))
}

// ValidateValidatingAdmissionPolicyBindingUpdate checks a change of a
// ValidatingAdmissionPolicyBinding.
func ValidateValidatingAdmissionPolicyBindingUpdate(
	b, old *admissionregistrationv1.ValidatingAdmissionPolicyBinding,
) field.ErrorList {
	return join(objectMetaUpdate(&b.ObjectMeta, &old.ObjectMeta), validatingBinding(&b.Spec))
}

// ValidateMutatingAdmissionPolicyBinding checks a new MutatingAdmissionPolicyBinding.
func ValidateMutatingAdmissionPolicyBinding(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	return join(objectMeta(&b.ObjectMeta, clusterScoped, admissionName), mutatingBinding(&b.Spec))
}

// ValidateMutatingAdmissionPolicyBindingUpdate checks a change of a MutatingAdmissionPolicyBinding.
func ValidateMutatingAdmissionPolicyBindingUpdate(
	b, old *admissionregistrationv1.MutatingAdmissionPolicyBinding,
) field.ErrorList {
	return join(objectMetaUpdate(&b.ObjectMeta, &old.ObjectMeta), mutatingBinding(&b.Spec))
}

func validatingBinding(spec *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) field.ErrorList {
	path := field.NewPath("spec")
	return join(policyBinding(path, spec.PolicyName, spec.ParamRef, spec.MatchResources),
		validationActions(path.Child("validationActions"), spec.ValidationActions))
}

func mutatingBinding(spec *admissionregistrationv1.MutatingAdmissionPolicyBindingSpec) field.ErrorList {
	path := field.NewPath("spec")
	return join(policyBinding(path, spec.PolicyName, spec.ParamRef, spec.MatchResources),
		mutableOperations(path.Child("matchResources"), spec.MatchResources))
}

func policyBinding(
	path *field.Path,
	policy string,
	params *admissionregistrationv1.ParamRef,
	match *admissionregistrationv1.MatchResources,
) field.ErrorList {
	return join(
		dnsSubdomain(path.Child("policyName"), policy),
		paramRef(path.Child("paramRef"), params),
		matchResources(path.Child("matchResources"), match),
	)
}

func paramRef(path *field.Path, ref *admissionregistrationv1.ParamRef) field.ErrorList {
	if ref == nil {
		return nil
	}
	const exclusive = "name and selector are mutually exclusive"
	name, selector := path.Child("name"), path.Child("selector")
	errs := requiredPointer(path.Child("parameterNotFoundAction"), ref.ParameterNotFoundAction,
		func(at *field.Path, action admissionregistrationv1.ParameterNotFoundActionType) field.ErrorList {
			return oneOf(at, action, admissionregistrationv1.DenyAction, admissionregistrationv1.AllowAction)
		})
	if ref.Name != "" {
		errs = append(errs, wellFormed(name, ref.Name, content.IsPathSegmentName)...)
	}
	if ref.Selector != nil {
		errs = append(errs, strictSelector(selector, *ref.Selector)...)
	}
	switch {
	case ref.Name != "" && ref.Selector != nil:
		errs = append(errs, field.Forbidden(name, exclusive), field.Forbidden(selector, exclusive))
	case ref.Name == "" && ref.Selector == nil:
		errs = append(errs, field.Required(path, "one of name or selector must be specified"))
	}
	return errs
}

// validationActions checks what is done about a request that a policy refuses.
func validationActions(path *field.Path, actions []admissionregistrationv1.ValidationAction) field.ErrorList {
	if len(actions) == 0 {
		return errorList(field.Required(path, "at least one validation action is required"))
	}
	has := map[admissionregistrationv1.ValidationAction]bool{}
	errs := each(path, actions, func(at *field.Path, action *admissionregistrationv1.ValidationAction) field.ErrorList {
		has[*action] = true
		return supported(at, *action, admissionregistrationv1.Audit, admissionregistrationv1.Deny,
			admissionregistrationv1.Warn)
	})
	return join(
		errs,
		distinct(path, actions, "",
			func(a *admissionregistrationv1.ValidationAction) admissionregistrationv1.ValidationAction { return *a }),
		check(
			!has[admissionregistrationv1.Deny] || !has[admissionregistrationv1.Warn],
			path,
			actions,
			"must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
		),
	)
}
