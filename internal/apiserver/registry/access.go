package registry

import (
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/token"
)

// Access is by what the server decides who somebody is and may do, for what cannot be decided before the object is known.
type Access struct {
	// Authorizer is the one by which requests are let in.
	Authorizer authorizer.UnconditionalAuthorizer
	// Policy is what roles and bindings say.
	Policy *rbac.Policy
	// Tokens makes the tokens of service accounts, and says whose one is.
	Tokens *token.Authority
}

// mayDo says whether a user may do a verb to a role or a binding.
func (a Access) mayDo(ctx context.Context, act authorizer.AttributesRecord) bool {
	act.APIGroup, act.APIVersion, act.ResourceRequest = rbacv1.GroupName, "*", true
	decision, _, _ := a.Authorizer.Authorize(ctx, act)
	return decision == authorizer.DecisionAllow
}

// caller is who sent the request, and whether that is somebody whom no rule binds.
func caller(ctx context.Context) (who user.Info, master bool) {
	who, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return &user.DefaultInfo{}, false
	}
	return who, slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup)
}
