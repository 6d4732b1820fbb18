package validation_test

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/apiserver/registry"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// ruleset is the validation of the objects of a kind.
type ruleset struct {
	create         func(obj runtime.Object) field.ErrorList
	update, status func(now, old runtime.Object) field.ErrorList
}

// rulesets returns the validation of each served kind, as its descriptor says, and of the two kinds
// that are never stored.
var rulesets = sync.OnceValue(func() map[string]ruleset {
	out := map[string]ruleset{
		"Binding": {create: onCreate(validation.ValidateBinding)},
		"Scale":   {create: onCreate(validation.ValidateScale)},
	}
	for _, r := range registry.RulesByResource(api.NewScheme()) {
		out[r.Kind.Kind] = ruleset{
			create: func(obj runtime.Object) field.ErrorList { return r.Create.Validate(administrator(obj), obj) },
			update: onUpdate(r.Update),
			status: onUpdate(r.Status),
		}
	}
	return out
})

// administrator returns the context of a request of a user who may write every part of a status, in
// the group and version of the object.
func administrator(obj runtime.Object) context.Context {
	gvk := obj.GetObjectKind().GroupVersionKind()
	ctx := request.WithRequestInfo(context.Background(),
		&request.RequestInfo{IsResourceRequest: true, APIGroup: gvk.Group, APIVersion: gvk.Version})
	return request.WithUser(ctx, &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup}})
}

func onCreate[P runtime.Object](validate func(P) field.ErrorList) func(runtime.Object) field.ErrorList {
	return func(obj runtime.Object) field.ErrorList { return validate(obj.(P)) }
}

func onUpdate(strategy rest.RESTUpdateStrategy) func(now, old runtime.Object) field.ErrorList {
	if strategy == nil {
		return nil
	}
	return func(now, old runtime.Object) field.ErrorList {
		return strategy.ValidateUpdate(administrator(now), now, old)
	}
}
