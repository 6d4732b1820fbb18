package validation

import (
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const maxIngressController = 250

// ValidateIngressClass checks a new IngressClass.
func ValidateIngressClass(c *networkingv1.IngressClass) field.ErrorList {
	return append(metadata(&c.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain), ingressClassSpec(&c.Spec)...)
}

// ValidateIngressClassUpdate checks a change of an IngressClass. Its controller is immutable.
func ValidateIngressClassUpdate(c, old *networkingv1.IngressClass) field.ErrorList {
	return join(
		metadataAgain(&c.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		immutableField(field.NewPath("spec", "controller"), c.Spec.Controller, old.Spec.Controller),
		ingressClassSpec(&c.Spec),
	)
}

func ingressClassSpec(spec *networkingv1.IngressClassSpec) field.ErrorList {
	controller := field.NewPath("spec", "controller")
	var errs field.ErrorList
	if len(spec.Controller) > maxIngressController {
		errs = append(errs, field.TooLong(controller, "", maxIngressController))
	}
	return join(errs, validation.IsDomainPrefixedPath(controller, spec.Controller),
		when(spec.Parameters != nil, func() field.ErrorList {
			return classParameters(field.NewPath("spec", "parameters"), spec.Parameters)
		}))
}

func classParameters(path *field.Path, p *networkingv1.IngressClassParametersReference) field.ErrorList {
	errs := join(pointerForm(path.Child("apiGroup"), p.APIGroup, validation.IsDNS1123Subdomain),
		pathSegment(path.Child("kind"), p.Kind), pathSegment(path.Child("name"), p.Name))
	const cluster, local = networkingv1.IngressClassParametersReferenceScopeCluster,
		networkingv1.IngressClassParametersReferenceScopeNamespace
	at := path.Child("namespace")
	switch {
	case p.Scope == nil:
		return append(errs, field.Required(path.Child("scope"), ""))
	case *p.Scope == local && p.Namespace == nil:
		return append(errs, field.Required(at, "`parameters.scope` is set to 'Namespace'"))
	case *p.Scope == local:
		return append(errs, wellFormed(at, *p.Namespace, validation.IsDNS1123Label)...)
	case *p.Scope == cluster && p.Namespace != nil:
		return append(errs, field.Forbidden(at, "`parameters.scope` is set to 'Cluster'"))
	}
	return append(errs, supported(path.Child("scope"), *p.Scope, cluster, local)...)
}
