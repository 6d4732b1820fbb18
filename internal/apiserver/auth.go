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

// tokenRemembered is how long a token counts after it was checked, for the price of a signature: whose service account or
// pod is gone is shut out that much later.
const tokenRemembered = 10 * time.Second

// newAuthenticator accepts client certificates of ca, the tokens of service accounts, and those of tokenFile when that is
// set. The loopback token is added by the generic server. Whoever
// shows nothing may ask whether the server is well, as load balancers do, and
// gets 401 for all else; whoever shows something false gets 401 everywhere.
func newAuthenticator(ca dynamiccertificates.CAContentProvider, tokens authenticator.Token, tokenFile string) (authenticator.Request, error) {
	accounts := bearertoken.New(cache.New(tokens, true, tokenRemembered, 0))
	handlers := []authenticator.Request{x509.NewDynamic(ca.VerifyOptions, x509.CommonNameUserConversion), accounts}
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

// publicPaths are open to everybody who reaches the server.
func publicPaths() []string { return []string{"/healthz", "/livez", "/readyz", "/version"} }

// newAuthorizer lets system:masters do everything, nodes what they need for themselves, and everybody else what the
// policy allows.
func newAuthorizer(policy *rbac.Policy, nodes *noderights.Authorizer) (authorizer.Authorizer, error) {
	return authzunion.New(
		authzunion.NamedAuthorizer{AuthorizerName: "masters", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		authzunion.NamedAuthorizer{AuthorizerName: "node", Authorizer: authorizer.AuthorizerFunc(nodes.Authorize)},
		authzunion.NamedAuthorizer{AuthorizerName: "rbac", Authorizer: authorizer.AuthorizerFunc(policy.Authorize)},
	)
}

// followPolicy keeps policy in step with roles and bindings. The server is ready when those that are stored count.
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
