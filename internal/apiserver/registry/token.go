package registry

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/apiserver/token"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// tokenLife is the default lifetime of a token.
const tokenLife = time.Hour

// tokenRequests serves POST serviceaccounts/NAME/token.
type tokenRequests struct {
	lookup *Lookup
	tokens *token.Authority
}

var (
	_ rest.NamedCreater                   = &tokenRequests{}
	_ rest.GroupVersionKindProvider       = &tokenRequests{}
	_ rest.SubresourceObjectMetaPreserver = &tokenRequests{}
)

// New implements rest.Storage.
func (t *tokenRequests) New() runtime.Object { return &authenticationv1.TokenRequest{} }

// Destroy implements rest.Storage.
func (t *tokenRequests) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (t *tokenRequests) NamespaceScoped() bool { return true }

// GroupVersionKind implements rest.GroupVersionKindProvider: the request is in another group than
// the service account.
func (t *tokenRequests) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")
}

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate keeps the UID of the request, which is a
// precondition.
func (t *tokenRequests) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

// Create implements rest.NamedCreater.
func (t *tokenRequests) Create(
	ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions,
) (runtime.Object, error) {
	request := obj.(*authenticationv1.TokenRequest)
	completeTokenRequest(request)
	if errs := validation.ValidateTokenRequest(request, name); len(errs) > 0 {
		return nil, apierrors.NewInvalid(t.GroupVersionKind(schema.GroupVersion{}).GroupKind(), name, errs)
	}
	if validate != nil {
		if err := validate(ctx, request.DeepCopy()); err != nil {
			return nil, err
		}
	}
	namespace := genericapirequest.NamespaceValue(ctx)
	account, ok, err := t.lookup.ServiceAccount(ctx, namespace, name)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, apierrors.NewNotFound(corev1.Resource("serviceaccounts"), name)
	case request.UID != "" && request.UID != account.UID:
		return nil, apierrors.NewConflict(corev1.Resource("serviceaccounts"), name,
			fmt.Errorf("its UID is %s, not %s", account.UID, request.UID))
	}
	what := token.Request{
		Account:   account,
		Audiences: request.Spec.Audiences,
		Life:      time.Duration(*request.Spec.ExpirationSeconds) * time.Second,
	}
	if ref := request.Spec.BoundObjectRef; ref != nil {
		if err := t.bind(ctx, &what, ref); err != nil {
			return nil, err
		}
	}
	signed, ends, err := t.tokens.Sign(what)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	request.Name, request.Namespace, request.UID = account.Name, account.Namespace, account.UID
	request.CreationTimestamp = metav1.Now()
	request.Status = authenticationv1.TokenRequestStatus{Token: signed, ExpirationTimestamp: metav1.NewTime(ends)}
	return request, nil
}

// completeTokenRequest sets the defaults of a request: one hour, for the API.
func completeTokenRequest(r *authenticationv1.TokenRequest) {
	if r.Spec.ExpirationSeconds == nil {
		r.Spec.ExpirationSeconds = new(int64(tokenLife / time.Second))
	}
	if len(r.Spec.Audiences) == 0 {
		r.Spec.Audiences = []string{token.Issuer}
	}
}

// bind binds the token to the object in ref.
func (t *tokenRequests) bind(
	ctx context.Context, what *token.Request, ref *authenticationv1.BoundObjectReference,
) error {
	bound, ok, err := t.lookup.Bound(ctx, ref.Kind, what.Account.Namespace, ref.Name)
	resource := corev1.Resource(ref.Kind)
	switch {
	case err != nil:
		return err
	case !ok:
		return apierrors.NewNotFound(resource, ref.Name)
	case ref.UID != "" && ref.UID != bound.GetUID():
		return apierrors.NewConflict(resource, ref.Name, fmt.Errorf("its UID is %s, not %s", bound.GetUID(), ref.UID))
	}
	what.Kind, what.Bound = ref.Kind, bound
	pod, ok := bound.(*core.Pod)
	if !ok {
		return nil
	}
	if account := pod.Spec.ServiceAccountName; account != what.Account.Name &&
		(account != "" || what.Account.Name != "default") {
		return apierrors.NewBadRequest(fmt.Sprintf("pod %q does not run as service account %q", pod.Name, what.Account.Name))
	}
	if pod.Spec.NodeName != "" {
		node, ok, err := find[*corev1.Node](ctx, t.lookup, corev1.Resource("nodes"), "", pod.Spec.NodeName)
		if err != nil {
			return err
		}
		if ok {
			what.Node = node
		}
	}
	return nil
}

// ServiceAccount implements token.Objects.
func (l *Lookup) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, bool, error) {
	return find[*corev1.ServiceAccount](ctx, l, corev1.Resource("serviceaccounts"), namespace, name)
}

// Bound implements token.Objects.
func (l *Lookup) Bound(ctx context.Context, kind, namespace, name string) (metav1.Object, bool, error) {
	switch kind {
	case "Pod":
		return someObject(find[*core.Pod](ctx, l, corev1.Resource("pods"), namespace, name))
	case "Secret":
		return someObject(find[*corev1.Secret](ctx, l, corev1.Resource("secrets"), namespace, name))
	case "Node":
		return someObject(find[*corev1.Node](ctx, l, corev1.Resource("nodes"), "", name))
	}
	return nil, false, apierrors.NewBadRequest(fmt.Sprintf("a token cannot be bound to a %s", kind))
}

func someObject[P metav1.Object](obj P, ok bool, err error) (metav1.Object, bool, error) {
	return obj, ok, err
}

// tokenReview returns a storage for token reviews.
func tokenReview(check authenticator.Token) rest.Storage {
	return newReview("tokenreview", false, func(ctx context.Context, r *authenticationv1.TokenReview) error {
		if r.Spec.Token == "" {
			path := field.NewPath("spec", "token")
			return apierrors.NewInvalid(schema.GroupKind{Group: authenticationv1.GroupName, Kind: "TokenReview"}, "",
				field.ErrorList{field.Required(path, "")})
		}
		ctx = authenticator.WithAudiences(ctx, authenticator.Audiences(r.Spec.Audiences))
		answer, ok, err := check.AuthenticateToken(ctx, r.Spec.Token)
		r.Status = authenticationv1.TokenReviewStatus{Authenticated: ok && err == nil}
		if err != nil {
			r.Status.Error = err.Error()
		}
		if r.Status.Authenticated {
			r.Status.Audiences = answer.Audiences
			r.Status.User = userInfo(answer.User)
		}
		return nil
	})
}
