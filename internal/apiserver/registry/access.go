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

// Access has the parts of the server that decide about users and permissions, for decisions that
// require the object.
type Access struct {
	// Authorizer is the authorizer of the server.
	Authorizer authorizer.UnconditionalAuthorizer
	// Policy has the roles and bindings.
	Policy *rbac.Policy
	// Tokens issues and verifies the tokens of service accounts.
	Tokens *token.Authority
}

// mayDo reports whether a user is allowed a verb on a role or a binding.
func (a Access) mayDo(ctx context.Context, act authorizer.AttributesRecord) bool {
	act.APIGroup, act.APIVersion, act.ResourceRequest = rbacv1.GroupName, "*", true
	decision, _, _ := a.Authorizer.Authorize(ctx, act)
	return decision == authorizer.DecisionAllow
}

// caller returns the user of a request, and whether no authorization rule applies to it.
func caller(ctx context.Context) (who user.Info, master bool) {
	who, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return &user.DefaultInfo{}, false
	}
	return who, slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup)
}
