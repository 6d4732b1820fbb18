package apiserver

import (
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authzunion "k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/apiserver/noderights"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/registry"
)

// tokenRemembered is the time for which the result of a token check is cached, because verifying a
// signature is expensive. A token stays valid this much longer after its service account or pod was
// deleted.
const tokenRemembered = 10 * time.Second

// newAuthenticator accepts client certificates of ca, tokens of service accounts, bootstrap tokens, and
// those of tokenFile if that is set. The loopback token is added by the generic server. Anonymous requests
// are accepted for health checks, as load balancers make them, and get 401 for all other paths.
// Requests with invalid credentials get 401 for all paths.
func newAuthenticator(
	ca dynamiccertificates.CAContentProvider, tokens, bootstrap authenticator.Token, tokenFile string,
) (authenticator.Request, error) {
	accounts := bearertoken.New(cache.New(tokens, true, tokenRemembered, 0))
	handlers := []authenticator.Request{
		x509.NewDynamic(ca.VerifyOptions, x509.CommonNameUserConversion), accounts, bearertoken.New(bootstrap),
	}
	if tokenFile != "" {
		known, err := tokenfile.NewCSV(tokenFile)
		if err != nil {
			return nil, fmt.Errorf("token file: %w", err)
		}
		handlers = append(handlers, bearertoken.New(known))
	}
	var public []apiserver.AnonymousAuthCondition
	for _, path := range publicPaths() {
		public = append(public, apiserver.AnonymousAuthCondition{Path: path})
	}
	known := group.NewAuthenticatedGroupAdder(union.New(handlers...))
	return union.NewFailOnError(known, anonymous.NewAuthenticator(public)), nil
}

// publicPaths returns the paths that anonymous requests may access.
func publicPaths() []string { return []string{"/healthz", "/livez", "/readyz", "/version"} }

// newAuthorizer allows system:masters everything, nodes the access to their own objects, and other
// users what the policy allows.
func newAuthorizer(policy *rbac.Policy, nodes *noderights.Authorizer) (authorizer.Authorizer, error) {
	return authzunion.New(
		authzunion.NamedAuthorizer{
			AuthorizerName: "masters",
			Authorizer:     authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup),
		},
		authzunion.NamedAuthorizer{AuthorizerName: "node", Authorizer: authorizer.AuthorizerFunc(nodes.Authorize)},
		authzunion.NamedAuthorizer{AuthorizerName: "rbac", Authorizer: authorizer.AuthorizerFunc(policy.Authorize)},
	)
}

// followPolicy keeps policy up to date with roles and bindings. The server is ready when the stored
// ones are effective.
func followPolicy(front *genericapiserver.GenericAPIServer, loopback *rest.Config, policy *rbac.Policy) error {
	client, err := kubernetes.NewForConfig(loopback)
	if err != nil {
		return fmt.Errorf("a client for roles and bindings: %w", err)
	}
	controller, err := rbac.NewController(policy, client, registry.Resources())
	if err != nil {
		return err
	}
	return front.AddPostStartHook("allot-rbac", func(hook genericapiserver.PostStartHookContext) error {
		return controller.Start(hook)
	})
}
