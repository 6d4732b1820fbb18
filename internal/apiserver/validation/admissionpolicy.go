package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/client-go/util/jsonpath"
)

const (
	maxAuditAnnotations               = 20
	maxAuditAnnotationExpressionBytes = 5 * 1024
	notSpecified                      = "expression is not specified"
)

// ValidateValidatingAdmissionPolicy checks a new ValidatingAdmissionPolicy.
func ValidateValidatingAdmissionPolicy(p *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	return join(objectMeta(&p.ObjectMeta, clusterScoped, admissionName), validatingPolicy(p, nil))
}

// ValidateValidatingAdmissionPolicyUpdate checks a change of a ValidatingAdmissionPolicy.
func ValidateValidatingAdmissionPolicyUpdate(
	p, old *admissionregistrationv1.ValidatingAdmissionPolicy,
) field.ErrorList {
	stored := storedExpressions{}
	stored.addConditions(old.Spec.MatchConditions)
	for _, v := range old.Spec.Validations {
		stored.add(v.Expression, v.MessageExpression)
	}
	for _, a := range old.Spec.AuditAnnotations {
		stored.add(a.ValueExpression)
	}
	return join(objectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta), validatingPolicy(p, stored))
}

// ValidateMutatingAdmissionPolicy checks a new MutatingAdmissionPolicy.
func ValidateMutatingAdmissionPolicy(p *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	return join(objectMeta(&p.ObjectMeta, clusterScoped, admissionName), mutatingPolicy(p, nil))
}

// ValidateMutatingAdmissionPolicyUpdate checks a change of a MutatingAdmissionPolicy.
func ValidateMutatingAdmissionPolicyUpdate(p, old *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	stored := storedExpressions{}
	stored.addConditions(old.Spec.MatchConditions)
	for _, m := range old.Spec.Mutations {
		if m.ApplyConfiguration != nil {
			stored.add(m.ApplyConfiguration.Expression)
		}
		if m.JSONPatch != nil {
			stored.add(m.JSONPatch.Expression)
		}
	}
	return join(objectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta), mutatingPolicy(p, stored))
}

func validatingPolicy(p *admissionregistrationv1.ValidatingAdmissionPolicy, stored storedExpressions) field.ErrorList {
	path, spec := field.NewPath("spec"), &p.Spec
	cel := policyExpressions{params: spec.ParamKind != nil, stored: stored, compiler: statelessCompiler()}
	if len(spec.Variables) > 0 {
		cel.compose()
	}
	errs := join(
		policyMatch(path, spec.FailurePolicy, spec.ParamKind, spec.MatchConstraints),
		matchConditions(path.Child("matchConditions"), spec.MatchConditions, cel.params, stored),
		each(path.Child("variables"), spec.Variables, cel.variable),
	)
	if len(spec.Validations) == 0 && len(spec.AuditAnnotations) == 0 {
		const message = "validations or auditAnnotations must contain at least one item"
		return append(errs, field.Required(path.Child("validations"), message),
			field.Required(path.Child("auditAnnotations"), message))
	}
	annotations := path.Child("auditAnnotations")
	return join(
		errs,
		each(path.Child("validations"), spec.Validations, cel.validation),
		check(len(spec.AuditAnnotations) <= maxAuditAnnotations, annotations, spec.AuditAnnotations,
			fmt.Sprintf("must not have more than %d auditAnnotations", maxAuditAnnotations)),
		each(
			annotations,
			spec.AuditAnnotations,
			func(at *field.Path, a *admissionregistrationv1.AuditAnnotation) field.ErrorList {
				return cel.auditAnnotation(at, p.Name, a)
			},
		),
		distinct(annotations, spec.AuditAnnotations, "key",
			func(a *admissionregistrationv1.AuditAnnotation) string { return a.Key }),
	)
}

func mutatingPolicy(p *admissionregistrationv1.MutatingAdmissionPolicy, stored storedExpressions) field.ErrorList {
	path, spec := field.NewPath("spec"), &p.Spec
	cel := policyExpressions{params: spec.ParamKind != nil, stored: stored}
	cel.compose()
	return join(
		policyMatch(path, spec.FailurePolicy, spec.ParamKind, spec.MatchConstraints),
		mutableOperations(path.Child("matchConstraints"), spec.MatchConstraints),
		matchConditions(path.Child("matchConditions"), spec.MatchConditions, cel.params, stored),
		each(path.Child("variables"), spec.Variables, cel.variable),
		when(len(spec.Mutations) == 0, func() field.ErrorList {
			return errorList(field.Required(path.Child("mutations"), "mutations must contain at least one item"))
		}),
		each(path.Child("mutations"), spec.Mutations, cel.mutation),
		oneOf(path.Child("reinvocationPolicy"), spec.ReinvocationPolicy,
			admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy),
	)
}

// policyMatch checks the fields that both kinds of policies have in addition to their expressions.
func policyMatch(
	path *field.Path, failure *admissionregistrationv1.FailurePolicyType,
	params *admissionregistrationv1.ParamKind, match *admissionregistrationv1.MatchResources,
) field.ErrorList {
	constraints := path.Child("matchConstraints")
	errs := join(requiredPointer(path.Child("failurePolicy"), failure, failurePolicy),
		paramKind(path.Child("paramKind"), params))
	if match == nil {
		return append(errs, field.Required(constraints, ""))
	}
	errs = append(errs, matchResources(constraints, match)...)
	if len(match.ResourceRules) == 0 {
		errs = append(errs, field.Required(constraints.Child("resourceRules"), ""))
	}
	return errs
}

// mutableOperations checks that nothing is to be changed at a deletion, which has no object.
func mutableOperations(path *field.Path, match *admissionregistrationv1.MatchResources) field.ErrorList {
	if match == nil {
		return nil
	}
	var errs field.ErrorList
	for _, rule := range match.ResourceRules {
		for _, operation := range rule.Operations {
			errs = append(
				errs,
				supported(path.Child("resourceRules", "operations"), operation, "*", "CONNECT", "CREATE", "UPDATE")...)
		}
	}
	return errs
}

func paramKind(path *field.Path, kind *admissionregistrationv1.ParamKind) field.ErrorList {
	if kind == nil {
		return nil
	}
	at := path.Child("kind")
	errs := paramVersion(path.Child("apiVersion"), kind.APIVersion)
	if kind.Kind == "" {
		return append(errs, field.Required(at, ""))
	}
	if messages := validation.IsDNS1035Label(strings.ToLower(kind.Kind)); len(messages) > 0 {
		errs = append(errs,
			field.Invalid(at, kind.Kind, "may have mixed case, but should otherwise match: "+strings.Join(messages, ",")))
	}
	return errs
}

func paramVersion(path *field.Path, text string) field.ErrorList {
	group, version, both := strings.Cut(text, "/")
	switch {
	case text == "":
		return errorList(field.Required(path, ""))
	case strings.Count(text, "/") > 1:
		return errorList(field.Invalid(path, text, "unexpected GroupVersion string: "+text))
	case !both:
		group, version = "", text
	}
	errs := when(group != "", func() field.ErrorList { return joined(path, group, validation.IsDNS1123Subdomain(group)) })
	if version == "" {
		return append(errs, field.Invalid(path, text, "version must be specified"))
	}
	return append(errs, joined(path, version, validation.IsDNS1035Label(version))...)
}

// joined reports all that is wrong with a value as one fault.
func joined(path *field.Path, value string, messages []string) field.ErrorList {
	return check(len(messages) == 0, path, value, strings.Join(messages, ","))
}

func (p *policyExpressions) validation(path *field.Path, v *admissionregistrationv1.Validation) field.ErrorList {
	expression, message := path.Child("expression"), path.Child("messageExpression")
	var errs field.ErrorList
	if strings.TrimSpace(v.Expression) == "" {
		errs = append(errs, field.Required(expression, notSpecified))
	} else {
		errs = append(errs, p.compile(expression, &validating.ValidationCondition{Expression: v.Expression},
			withAuthorizer)...)
	}
	switch {
	case v.MessageExpression == "":
	case strings.TrimSpace(v.MessageExpression) == "":
		errs = append(errs, field.Invalid(message, v.MessageExpression, "must be non-empty if specified"))
	default:
		errs = append(
			errs,
			p.compile(message, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression},
				withoutAuthorizer)...)
	}
	if v.Message != "" {
		text := strings.TrimSpace(v.Message)
		errs = append(errs, check(text != "", path.Child("message"), v.Message, "must be non-empty if specified")...)
		errs = append(
			errs,
			check(!strings.ContainsAny(text, "\n\r"), path.Child("message"), v.Message, "must not contain line breaks")...)
	}
	if v.Reason != nil {
		errs = append(errs, supported(path.Child("reason"), *v.Reason,
			metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge)...)
	}
	return errs
}

func (p *policyExpressions) auditAnnotation(
	path *field.Path, policy string, a *admissionregistrationv1.AuditAnnotation,
) field.ErrorList {
	key, value := path.Child("key"), path.Child("valueExpression")
	errs := check(policy != "", key, a.Key, "requires metadata.name be non-empty")
	if policy != "" {
		errs = append(errs, wellFormed(key, policy+"/"+a.Key, validation.IsQualifiedName)...)
	}
	switch text := strings.TrimSpace(a.ValueExpression); {
	case text == "":
		return append(errs, field.Required(value, "valueExpression is not specified"))
	case len(text) > maxAuditAnnotationExpressionBytes:
		return append(errs,
			field.Required(value, fmt.Sprintf("must not exceed %d bytes in length", maxAuditAnnotationExpressionBytes)))
	}
	return append(
		errs,
		p.compile(value, &validating.AuditAnnotationCondition{ValueExpression: a.ValueExpression}, withAuthorizer)...)
}

func (p *policyExpressions) mutation(path *field.Path, m *admissionregistrationv1.Mutation) field.ErrorList {
	jsonPatch, apply := path.Child("jsonPatch"), path.Child("applyConfiguration")
	switch m.PatchType {
	case admissionregistrationv1.PatchTypeJSONPatch:
		errs := when(m.ApplyConfiguration != nil, func() field.ErrorList {
			return errorList(field.Invalid(apply, "{applyConfiguration}", "must not be specified when patchType is JSONPatch"))
		})
		if m.JSONPatch == nil {
			return append(errs, field.Required(jsonPatch, "must be specified when patchType is JSONPatch"))
		}
		text := strings.TrimSpace(m.JSONPatch.Expression)
		return append(errs, p.patch(jsonPatch.Child("expression"), &patch.JSONPatchCondition{Expression: text})...)
	case admissionregistrationv1.PatchTypeApplyConfiguration:
		errs := when(m.JSONPatch != nil, func() field.ErrorList {
			return errorList(field.Invalid(jsonPatch, "{jsonPatch}", "must not be specified when patchType is ApplyConfiguration"))
		})
		if m.ApplyConfiguration == nil {
			return append(errs, field.Required(apply, "must be specified when patchType is ApplyConfiguration"))
		}
		text := strings.TrimSpace(m.ApplyConfiguration.Expression)
		return append(errs, p.patch(apply.Child("expression"), &patch.ApplyConfigurationCondition{Expression: text})...)
	}
	return oneOf(path.Child("patchType"), m.PatchType, admissionregistrationv1.PatchTypeApplyConfiguration,
		admissionregistrationv1.PatchTypeJSONPatch)
}

func (p *policyExpressions) patch(path *field.Path, expression plugincel.ExpressionAccessor) field.ErrorList {
	if expression.GetExpression() == "" {
		return errorList(field.Required(path, ""))
	}
	return p.compile(path, expression, patchTypes)
}

// celIdentifier is the form of a name in CEL.
var celIdentifier = regexp.MustCompile("^[_a-zA-Z][_a-zA-Z0-9]*$")

// celReserved are words that are no names in CEL.
func celReserved() []string {
	return []string{
		"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
		"loop", "package", "namespace", "return", "var", "void", "while",
	}
}

func (p *policyExpressions) variable(path *field.Path, v *admissionregistrationv1.Variable) field.ErrorList {
	name, expression := path.Child("name"), path.Child("expression")
	var errs field.ErrorList
	if strings.TrimSpace(v.Name) == "" {
		errs = append(errs, field.Required(name, "name is not specified"))
	} else {
		ok := celIdentifier.MatchString(v.Name) && !slices.Contains(celReserved(), v.Name)
		errs = append(errs, check(ok, name, v.Name, "must be a valid CEL identifier")...)
	}
	if strings.TrimSpace(v.Expression) == "" {
		return append(errs, field.Required(expression, notSpecified))
	}
	return append(errs, p.store(expression, &validating.Variable{Name: v.Name, Expression: v.Expression})...)
}

// ValidateValidatingAdmissionPolicyStatusUpdate checks what is reported about the types of a
// policy.
func ValidateValidatingAdmissionPolicyStatusUpdate(
	p, old *admissionregistrationv1.ValidatingAdmissionPolicy,
) field.ErrorList {
	path := field.NewPath("status")
	errs := join(
		objectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta),
		metav1validation.ValidateConditions(p.Status.Conditions, path.Child("conditions")),
	)
	if p.Status.TypeChecking == nil {
		return errs
	}
	warnings := path.Child("typeChecking", "expressionWarnings")
	return append(errs, each(warnings, p.Status.TypeChecking.ExpressionWarnings,
		func(at *field.Path, w *admissionregistrationv1.ExpressionWarning) field.ErrorList {
			return join(required(at.Child("warning"), w.Warning), fieldReference(at.Child("fieldRef"), w.FieldRef))
		})...)
}

func fieldReference(path *field.Path, text string) field.ErrorList {
	text = strings.TrimSpace(text)
	if text == "" {
		return errorList(field.Required(path, ""))
	}
	if err := jsonpath.New("spec").Parse("{" + text + "}"); err != nil {
		return errorList(field.Invalid(path, text, fmt.Sprintf("invalid JSONPath: %v", err)))
	}
	return nil
}
