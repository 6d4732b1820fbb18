package registry

import (
	"context"
	"maps"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// selfSubjectReview answers who the caller is; it stores nothing.
type selfSubjectReview struct{}

var _ rest.Creater = selfSubjectReview{}

func (selfSubjectReview) New() runtime.Object     { return &authenticationv1.SelfSubjectReview{} }
func (selfSubjectReview) Destroy()                {}
func (selfSubjectReview) NamespaceScoped() bool   { return false }
func (selfSubjectReview) GetSingularName() string { return "selfsubjectreview" }

// Create implements rest.Creater.
func (selfSubjectReview) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions,
) (runtime.Object, error) {
	if validate != nil {
		if err := validate(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("the request has no user")
	}
	out := &authenticationv1.SelfSubjectReview{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()}}
	out.Status.UserInfo = authenticationv1.UserInfo{Username: user.GetName(), UID: user.GetUID(), Groups: user.GetGroups()}
	for k, v := range maps.All(user.GetExtra()) {
		if out.Status.UserInfo.Extra == nil {
			out.Status.UserInfo.Extra = map[string]authenticationv1.ExtraValue{}
		}
		out.Status.UserInfo.Extra[k] = v
	}
	return out, nil
}
