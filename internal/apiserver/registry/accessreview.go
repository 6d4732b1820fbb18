package registry

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/allot-dev/allot/internal/apiserver/validation"
)

func accessReviewKinds() []runtime.Object {
	return []runtime.Object{
		&authorizationv1.SelfSubjectAccessReview{}, &authorizationv1.SubjectAccessReview{},
		&authorizationv1.LocalSubjectAccessReview{}, &authorizationv1.SelfSubjectRulesReview{},
	}
}

// accessReviews returns the storages for access reviews, which use the server's authorizer.
func accessReviews(a Access) map[string]rest.Storage {
	return map[string]rest.Storage{
		"selfsubjectaccessreviews": newReview(
			"selfsubjectaccessreview",
			false,
			func(ctx context.Context, r *authorizationv1.SelfSubjectAccessReview) error {
				who, _ := caller(ctx)
				spec := authorizationv1.SubjectAccessReviewSpec{
					ResourceAttributes:    r.Spec.ResourceAttributes,
					NonResourceAttributes: r.Spec.NonResourceAttributes,
				}
				if err := invalidReview("SelfSubjectAccessReview", validation.ValidateSelfSubjectAccessReview(r)); err != nil {
					return err
				}
				r.Status = a.review(ctx, who, &spec)
				return nil
			},
		),
		"subjectaccessreviews": newReview(
			"subjectaccessreview",
			false,
			func(ctx context.Context, r *authorizationv1.SubjectAccessReview) error {
				if err := invalidReview("SubjectAccessReview", validation.ValidateSubjectAccessReview(r)); err != nil {
					return err
				}
				r.Status = a.review(ctx, subjectOf(&r.Spec), &r.Spec)
				return nil
			},
		),
		"localsubjectaccessreviews": newReview(
			"localsubjectaccessreview",
			true,
			func(ctx context.Context, r *authorizationv1.LocalSubjectAccessReview) error {
				if err := invalidReview("LocalSubjectAccessReview",
					validation.ValidateLocalSubjectAccessReview(r, genericapirequest.NamespaceValue(ctx))); err != nil {
					return err
				}
				r.Status = a.review(ctx, subjectOf(&r.Spec), &r.Spec)
				return nil
			},
		),
		"selfsubjectrulesreviews": newReview("selfsubjectrulesreview", false, a.rulesReview),
	}
}

// rulesReview lists the permissions of the caller in a namespace.
func (a Access) rulesReview(ctx context.Context, r *authorizationv1.SelfSubjectRulesReview) error {
	if r.Spec.Namespace == "" {
		return apierrors.NewBadRequest("spec.namespace: no namespace is named")
	}
	who, _ := caller(ctx)
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules:    []authorizationv1.ResourceRule{},
		NonResourceRules: []authorizationv1.NonResourceRule{},
	}
	for _, rule := range a.Policy.Rules(who, r.Spec.Namespace) {
		if len(rule.NonResourceURLs) > 0 {
			status.NonResourceRules = append(status.NonResourceRules,
				authorizationv1.NonResourceRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
			continue
		}
		status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
			Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
		})
	}
	r.Status = status
	return nil
}

func invalidReview(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName, Kind: kind}, "", errs)
}

func (a Access) review(
	ctx context.Context, who user.Info, spec *authorizationv1.SubjectAccessReviewSpec,
) authorizationv1.SubjectAccessReviewStatus {
	decision, reason, err := a.Authorizer.Authorize(ctx, attributesOf(who, spec))
	status := authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == authorizer.DecisionAllow, Denied: decision == authorizer.DecisionDeny, Reason: reason,
	}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return status
}

func subjectOf(spec *authorizationv1.SubjectAccessReviewSpec) user.Info {
	who := &user.DefaultInfo{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
	for key, values := range spec.Extra {
		if who.Extra == nil {
			who.Extra = map[string][]string{}
		}
		who.Extra[key] = values
	}
	return who
}

// attributesOf returns the request of a review. Selectors narrow a request, and no rule here
// depends on them.
func attributesOf(who user.Info, spec *authorizationv1.SubjectAccessReviewSpec) authorizer.Attributes {
	if path := spec.NonResourceAttributes; path != nil {
		return authorizer.AttributesRecord{User: who, Verb: path.Verb, Path: path.Path}
	}
	r := spec.ResourceAttributes
	version := r.Version
	if version == "" {
		version = "*"
	}
	return authorizer.AttributesRecord{
		User: who, Verb: r.Verb, Namespace: r.Namespace, APIGroup: r.Group, APIVersion: version,
		Resource: r.Resource, Subresource: r.Subresource, Name: r.Name, ResourceRequest: true,
	}
}

// review is a storage for reviews: creating one returns its result, and nothing is stored.
type review[T any, P pointer[T]] struct {
	singular   string
	namespaced bool
	answer     func(ctx context.Context, question P) error
}

func newReview[T any, P pointer[T]](
	singular string, namespaced bool, answer func(context.Context, P) error,
) *review[T, P] {
	return &review[T, P]{singular, namespaced, answer}
}

var _ rest.Creater = &review[authorizationv1.SubjectAccessReview, *authorizationv1.SubjectAccessReview]{}

// New implements rest.Storage.
func (r *review[T, P]) New() runtime.Object { return P(new(T)) }

// Destroy implements rest.Storage.
func (r *review[T, P]) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (r *review[T, P]) NamespaceScoped() bool { return r.namespaced }

// GetSingularName implements rest.SingularNameProvider.
func (r *review[T, P]) GetSingularName() string { return r.singular }

// Create implements rest.Creater.
func (r *review[T, P]) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions,
) (runtime.Object, error) {
	if validate != nil {
		if err := validate(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	question := obj.(P)
	return question, r.answer(ctx, question)
}
