package registry

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// admissionPolicies returns the kinds of policies in CEL and of their bindings. Only users that may
// read the parameters of a policy may write it, because its rejections reveal them.
func admissionPolicies(g dependencies) []entry {
	params := paramAccess{access: g.access, lookup: g.lookup, resource: g.resource}
	return []entry{
		&kind[admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicy]{
			names:        admissionNames("validatingadmissionpolicies", "validatingadmissionpolicy"),
			newList:      func() runtime.Object { return &admissionregistrationv1.ValidatingAdmissionPolicyList{} },
			defaults:     defaults.ValidatingAdmissionPolicy,
			printer:      printers.ValidatingAdmissionPolicy,
			class:        rbac.Cluster,
			spec:         func(p *admissionregistrationv1.ValidatingAdmissionPolicy) any { return &p.Spec },
			status:       func(p *admissionregistrationv1.ValidatingAdmissionPolicy) any { return &p.Status },
			generation:   true,
			needsVersion: true,
			statusOnly:   true,

			validate:       validation.ValidateValidatingAdmissionPolicy,
			validateUpdate: validation.ValidateValidatingAdmissionPolicyUpdate,
			validateStatus: validation.ValidateValidatingAdmissionPolicyStatusUpdate,
			validateIn: func(ctx context.Context, p, old *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
				if old != nil && apiequality.Semantic.DeepEqual(p.Spec.ParamKind, old.Spec.ParamKind) {
					return nil
				}
				return params.ofPolicy(ctx, p.Spec.ParamKind)
			},
		},
		&kind[admissionregistrationv1.ValidatingAdmissionPolicyBinding, *admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
			names:        admissionNames("validatingadmissionpolicybindings", "validatingadmissionpolicybinding"),
			newList:      func() runtime.Object { return &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{} },
			defaults:     defaults.ValidatingAdmissionPolicyBinding,
			printer:      printers.ValidatingAdmissionPolicyBinding,
			class:        rbac.Cluster,
			spec:         func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) any { return &b.Spec },
			generation:   true,
			needsVersion: true,

			validate:       validation.ValidateValidatingAdmissionPolicyBinding,
			validateUpdate: validation.ValidateValidatingAdmissionPolicyBindingUpdate,
			validateIn: func(ctx context.Context, b, old *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
				if old != nil && b.Spec.PolicyName == old.Spec.PolicyName &&
					apiequality.Semantic.DeepEqual(b.Spec.ParamRef, old.Spec.ParamRef) {
					return nil
				}
				return params.ofBinding(ctx, params.validatingPolicy(ctx, b.Spec.PolicyName), b.Spec.ParamRef)
			},
		},
		&kind[admissionregistrationv1.MutatingAdmissionPolicy, *admissionregistrationv1.MutatingAdmissionPolicy]{
			names:        admissionNames("mutatingadmissionpolicies", "mutatingadmissionpolicy"),
			newList:      func() runtime.Object { return &admissionregistrationv1.MutatingAdmissionPolicyList{} },
			defaults:     defaults.MutatingAdmissionPolicy,
			printer:      printers.MutatingAdmissionPolicy,
			class:        rbac.Cluster,
			spec:         func(p *admissionregistrationv1.MutatingAdmissionPolicy) any { return &p.Spec },
			generation:   true,
			needsVersion: true,

			validate:       validation.ValidateMutatingAdmissionPolicy,
			validateUpdate: validation.ValidateMutatingAdmissionPolicyUpdate,
			validateIn: func(ctx context.Context, p, old *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
				if old != nil && apiequality.Semantic.DeepEqual(p.Spec.ParamKind, old.Spec.ParamKind) {
					return nil
				}
				return params.ofPolicy(ctx, p.Spec.ParamKind)
			},
		},
		&kind[admissionregistrationv1.MutatingAdmissionPolicyBinding, *admissionregistrationv1.MutatingAdmissionPolicyBinding]{
			names:        admissionNames("mutatingadmissionpolicybindings", "mutatingadmissionpolicybinding"),
			newList:      func() runtime.Object { return &admissionregistrationv1.MutatingAdmissionPolicyBindingList{} },
			defaults:     defaults.MutatingAdmissionPolicyBinding,
			printer:      printers.MutatingAdmissionPolicyBinding,
			class:        rbac.Cluster,
			spec:         func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) any { return &b.Spec },
			generation:   true,
			needsVersion: true,

			validate:       validation.ValidateMutatingAdmissionPolicyBinding,
			validateUpdate: validation.ValidateMutatingAdmissionPolicyBindingUpdate,
			validateIn: func(ctx context.Context, b, old *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
				if old != nil && b.Spec.PolicyName == old.Spec.PolicyName &&
					apiequality.Semantic.DeepEqual(b.Spec.ParamRef, old.Spec.ParamRef) {
					return nil
				}
				return params.ofBinding(ctx, params.mutatingPolicy(ctx, b.Spec.PolicyName), b.Spec.ParamRef)
			},
		},
	}
}

// paramAccess decides whether the caller may read the parameters of a policy.
type paramAccess struct {
	access   Access
	lookup   *Lookup
	resource func(schema.GroupVersionKind) (schema.GroupVersionResource, error)
}

// ofPolicy checks that the caller may read all objects of a paramKind.
func (a paramAccess) ofPolicy(ctx context.Context, kind *admissionregistrationv1.ParamKind) field.ErrorList {
	if kind == nil {
		return nil
	}
	act := a.reading(kind)
	act.Verb, act.Name, act.Namespace = "get", "*", "*"
	if who, ok := a.allows(ctx, act); !ok {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "paramKind"), fmt.Sprintf(
			`user %s must have "get" permission on all objects of the referenced paramKind (kind=%s, apiVersion=%s)`,
			who,
			kind.Kind,
			kind.APIVersion,
		))}
	}
	return nil
}

// ofBinding checks that the caller may read the objects that a binding names. Without a known
// paramKind that takes the right to read all kinds.
func (a paramAccess) ofBinding(
	ctx context.Context, kind *admissionregistrationv1.ParamKind, ref *admissionregistrationv1.ParamRef,
) field.ErrorList {
	if ref == nil {
		return nil
	}
	act := a.reading(kind)
	act.Verb, act.Name, act.Namespace = "get", ref.Name, ref.Namespace
	if ref.Name == "" {
		act.Verb = "list"
	}
	if who, ok := a.allows(ctx, act); !ok {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "paramRef"), fmt.Sprintf(
			`user %s does not have "%s" permission on the object referenced by paramRef`, who, act.Verb))}
	}
	return nil
}

// reading returns what it takes to read objects of a kind: everything, if the kind is not served.
func (a paramAccess) reading(kind *admissionregistrationv1.ParamKind) authorizer.AttributesRecord {
	out := authorizer.AttributesRecord{ResourceRequest: true, APIGroup: "*", APIVersion: "*", Resource: "*"}
	if kind == nil {
		return out
	}
	gv, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return out
	}
	out.APIGroup, out.APIVersion = gv.Group, gv.Version
	if a.resource == nil {
		return out
	}
	if gvr, err := a.resource(gv.WithKind(kind.Kind)); err == nil {
		out.Resource = gvr.Resource
	}
	return out
}

func (a paramAccess) allows(ctx context.Context, act authorizer.AttributesRecord) (name string, ok bool) {
	who, master := caller(ctx)
	if master || a.access.Authorizer == nil {
		return who.GetName(), true
	}
	act.User = who
	decision, _, err := a.access.Authorizer.Authorize(ctx, act)
	return who.GetName(), err == nil && decision == authorizer.DecisionAllow
}

// validatingPolicy returns the paramKind of a policy, or nil if there is no such policy or it has
// none.
func (a paramAccess) validatingPolicy(ctx context.Context, name string) *admissionregistrationv1.ParamKind {
	resource := schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: "validatingadmissionpolicies"}
	p, ok, err := find[*admissionregistrationv1.ValidatingAdmissionPolicy](ctx, a.lookup, resource, "", name)
	if err != nil || !ok {
		return nil
	}
	return p.Spec.ParamKind
}

// mutatingPolicy is validatingPolicy for a MutatingAdmissionPolicy.
func (a paramAccess) mutatingPolicy(ctx context.Context, name string) *admissionregistrationv1.ParamKind {
	resource := schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: "mutatingadmissionpolicies"}
	p, ok, err := find[*admissionregistrationv1.MutatingAdmissionPolicy](ctx, a.lookup, resource, "", name)
	if err != nil || !ok {
		return nil
	}
	return p.Spec.ParamKind
}
