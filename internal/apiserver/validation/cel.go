package validation

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

// selectors checks the CEL expressions of device selectors.
func selectors(path *field.Path, list []resourcev1.DeviceSelector) field.ErrorList {
	return eachUpTo(
		path,
		list,
		resourcev1.DeviceSelectorsMaxSize,
		func(at *field.Path, s *resourcev1.DeviceSelector) field.ErrorList {
			if s.CEL == nil {
				return errorList(field.Required(at.Child("cel"), ""))
			}
			_, errs := expression(at.Child("cel", "expression"), s.CEL.Expression, false)
			return errs
		},
	)
}

// expression compiles a CEL expression, and returns its maximum cost.
func expression(path *field.Path, text string, derived bool) (cost uint64, errs field.ErrorList) {
	if len(text) > resourcev1.CELSelectorExpressionMaxLength {
		return 0, errorList(field.TooLong(path, "", resourcev1.CELSelectorExpressionMaxLength))
	}
	env := environment.NewExpressions
	result := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}).
		CompileCELExpression(text, dracel.Options{EnvType: &env, DerivedAttribute: derived})
	if result.Error != nil {
		return 0, errorList(celFault(path, text, result.Error))
	}
	if result.MaxCost > resourcev1.CELSelectorExpressionMaxCost {
		return result.MaxCost, errorList(field.Forbidden(path, "too complex, exceeds cost limit"))
	}
	return result.MaxCost, nil
}

func celFault(path *field.Path, text string, err *apiservercel.Error) *field.Error {
	switch err.Type {
	case apiservercel.ErrorTypeRequired:
		return field.Required(path, err.Detail)
	case apiservercel.ErrorTypeInvalid:
		return field.Invalid(path, text, err.Detail)
	default:
		return field.InternalError(path, err)
	}
}

// derivedAttributes sums the cost of all derived attributes of a claim. It has the attributes that
// constraints use, by request; "" means all requests.
type derivedAttributes struct {
	used map[string]map[string]bool
	cost uint64
}

func constrainedAttributes(constraints []resourcev1.DeviceConstraint) map[string]map[string]bool {
	used := map[string]map[string]bool{}
	for _, c := range constraints {
		name := c.MatchAttribute
		if name == nil {
			name = c.DistinctAttribute
		}
		if name == nil {
			continue
		}
		requests := c.Requests
		if len(requests) == 0 {
			requests = []string{""}
		}
		for _, request := range requests {
			if used[request] == nil {
				used[request] = map[string]bool{}
			}
			used[request][string(*name)] = true
		}
	}
	return used
}

func (d *derivedAttributes) check(
	path *field.Path, request string, list []resourcev1.DeviceDerivedAttribute,
) field.ErrorList {
	parent, _, _ := strings.Cut(request, "/")
	errs := each(path, list, func(at *field.Path, a *resourcev1.DeviceDerivedAttribute) field.ErrorList {
		var errs field.ErrorList
		name := string(a.Name)
		if name != "" && !d.used[""][name] && !d.used[request][name] && !d.used[parent][name] {
			errs = append(
				errs,
				field.Invalid(at.Child("name"), name,
					"must be used by a matchAttribute or distinctAttribute constraint on this request"),
			)
		}
		if a.Expression != "" {
			cost, faults := expression(at.Child("expression"), a.Expression, true)
			d.cost += cost
			errs = append(errs, faults...)
		}
		return errs
	})
	return append(
		errs,
		distinct(path, list, "",
			func(a *resourcev1.DeviceDerivedAttribute) resourcev1.FullyQualifiedName { return a.Name })...)
}
