package apiserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authzunion "k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// newAuthenticator accepts client certificates of ca and the tokens of tokenFile,
// when that is set. The loopback token is added by the generic server.
func newAuthenticator(ca dynamiccertificates.CAContentProvider, tokenFile string) (authenticator.Request, error) {
	handlers := []authenticator.Request{x509.NewDynamic(ca.VerifyOptions, x509.CommonNameUserConversion)}
	if tokenFile != "" {
		tokens, err := tokenfile.NewCSV(tokenFile)
		if err != nil {
			return nil, fmt.Errorf("token file: %w", err)
		}
		handlers = append(handlers, bearertoken.New(tokens))
	}
	return group.NewAuthenticatedGroupAdder(union.New(handlers...)), nil
}

// newAuthorizer lets system:masters do everything and every authenticated user
// see what the server is and serves.
func newAuthorizer() (authorizer.Authorizer, error) {
	return authzunion.New(
		authzunion.NamedAuthorizer{AuthorizerName: "masters", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		authzunion.NamedAuthorizer{AuthorizerName: "discovery", Authorizer: authorizer.AuthorizerFunc(authorizeDiscovery)},
	)
}

func authorizeDiscovery(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetUser() == nil || !slices.Contains(a.GetUser().GetGroups(), user.AllAuthenticated) {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if a.IsResourceRequest() {
		// Everyone may ask who they are.
		if a.GetVerb() == "create" && a.GetAPIGroup() == "authentication.k8s.io" && a.GetResource() == "selfsubjectreviews" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	}
	if a.GetVerb() == "get" && isDiscoveryPath(a.GetPath()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func isDiscoveryPath(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "api", "apis", "openapi", "version", "healthz", "livez", "readyz":
		return true
	}
	return false
}
