package token

import (
	"context"
	"crypto/subtle"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"
	"k8s.io/cluster-bootstrap/util/secrets"
)

// Bootstrap authenticates the tokens with which machines join: each is a secret in the namespace
// kube-system, and is valid until the secret expires or is deleted.
type Bootstrap struct {
	objects Objects
	now     func() time.Time
}

var _ authenticator.Token = &Bootstrap{}

// NewBootstrap returns an authenticator that rejects all tokens until Read is called.
func NewBootstrap(now func() time.Time) *Bootstrap { return &Bootstrap{now: now} }

// Read sets the objects in which tokens are looked up. It must be called before the authenticator is
// used.
func (b *Bootstrap) Read(objects Objects) { b.objects = objects }

// AuthenticateToken implements authenticator.Token.
func (b *Bootstrap) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	if b.objects == nil || !bootstraputil.IsValidBootstrapToken(token) {
		return nil, false, nil
	}
	id, private, _ := strings.Cut(token, ".")
	found, ok, err := b.objects.Bound(ctx, "Secret", metav1.NamespaceSystem, bootstraputil.BootstrapTokenSecretName(id))
	if err != nil || !ok {
		return nil, false, err
	}
	secret, ok := found.(*corev1.Secret)
	if !ok || !b.accepts(secret, id, private) {
		return nil, false, nil
	}
	groups, err := secrets.GetGroups(secret)
	if err != nil {
		return nil, false, nil //nolint:nilerr // a token with a wrong group is not valid
	}
	return &authenticator.Response{User: &user.DefaultInfo{Name: bootstrapapi.BootstrapUserPrefix + id, Groups: groups}},
		true, nil
}

// accepts reports whether a secret is that of the token. The comparison takes the same time for all
// tokens.
func (b *Bootstrap) accepts(secret *corev1.Secret, id, private string) bool {
	value := secrets.GetData(secret, bootstrapapi.BootstrapTokenSecretKey)
	return secret.DeletionTimestamp == nil && secret.Type == bootstrapapi.SecretTypeBootstrapToken &&
		subtle.ConstantTimeCompare([]byte(value), []byte(private)) == 1 &&
		secrets.GetData(secret, bootstrapapi.BootstrapTokenIDKey) == id &&
		secrets.GetData(secret, bootstrapapi.BootstrapTokenUsageAuthentication) == "true" &&
		!secrets.HasExpired(secret, b.now())
}
