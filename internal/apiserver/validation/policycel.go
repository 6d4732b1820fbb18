package validation

import (
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

const maxMatchConditions = 64

// statelessCompiler compiles expressions without variables. It is built when the first expression
// is validated.
var statelessCompiler = sync.OnceValue(func() plugincel.Compiler {
	return plugincel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// storedExpressions are expressions that have been accepted. They stay valid, also with functions
// that a new expression may not use yet.
type storedExpressions map[string]bool

func (s storedExpressions) add(expressions ...string) {
	for _, e := range expressions {
		s[e] = true
	}
}

func (s storedExpressions) addConditions(conditions []admissionregistrationv1.MatchCondition) {
	for _, c := range conditions {
		s.add(c.Expression)
	}
}

func (s storedExpressions) environment(expression string) environment.Type {
	if s[expression] {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// policyExpressions compiles the expressions of one policy.
type policyExpressions struct {
	// params is whether the policy has a paramKind.
	params   bool
	stored   storedExpressions
	compiler plugincel.Compiler
	// variables is the compiler if expressions can use variables.
	variables *plugincel.CompositedCompiler
}

// availability is the set of variables of an expression in addition to the object and the request.
type availability int

const (
	withoutAuthorizer availability = iota
	withAuthorizer
	patchTypes // and the authorizer
)

func (p *policyExpressions) declarations(of availability) plugincel.OptionalVariableDeclarations {
	return plugincel.OptionalVariableDeclarations{
		HasParams:     p.params,
		HasAuthorizer: of != withoutAuthorizer,
		HasPatchTypes: of == patchTypes,
	}
}

// compose lets expressions use the variables that are stored before them.
func (p *policyExpressions) compose() {
	composited, err := plugincel.NewCompositedCompiler(
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()),
	)
	if err != nil {
		p.compiler = statelessCompiler()
		return
	}
	p.compiler, p.variables = composited, composited
}

func (p *policyExpressions) compile(
	path *field.Path, expression plugincel.ExpressionAccessor, of availability,
) field.ErrorList {
	text := expression.GetExpression()
	result := p.compiler.CompileCELExpression(expression, p.declarations(of), p.stored.environment(text))
	if result.Error != nil {
		return errorList(celFault(path, text, result.Error))
	}
	return nil
}

// store compiles a variable, and lets the expressions after it use the variable.
func (p *policyExpressions) store(path *field.Path, variable plugincel.NamedExpressionAccessor) field.ErrorList {
	text := variable.GetExpression()
	if p.variables == nil {
		return p.compile(path, variable, withAuthorizer)
	}
	result := p.variables.CompileAndStoreVariable(variable, p.declarations(withAuthorizer), p.stored.environment(text))
	if result.Error != nil {
		return errorList(celFault(path, text, result.Error))
	}
	return nil
}

// matchConditions checks the expressions that decide whether a webhook or a policy is for a
// request.
func matchConditions(
	path *field.Path, list []admissionregistrationv1.MatchCondition, params bool, stored storedExpressions,
) field.ErrorList {
	cel := policyExpressions{params: params, stored: stored, compiler: statelessCompiler()}
	return join(
		atMost(path, len(list), maxMatchConditions),
		each(path, list, func(at *field.Path, c *admissionregistrationv1.MatchCondition) field.ErrorList {
			expression, name := at.Child("expression"), at.Child("name")
			errs := requiredForm(name, c.Name, validation.IsQualifiedName)
			text := strings.TrimSpace(c.Expression)
			if text == "" {
				return append(errs, field.Required(expression, ""))
			}
			return append(errs, cel.compile(expression, &matchconditions.MatchCondition{Expression: text}, withAuthorizer)...)
		}),
		unique(path, list, "name", func(c *admissionregistrationv1.MatchCondition) string { return c.Name }),
	)
}
