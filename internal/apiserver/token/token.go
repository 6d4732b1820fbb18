package token

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Issuer is the name of the control plane in its tokens, and the audience of tokens for the API
// itself.
const Issuer = "https://kubernetes.default.svc"

// leeway is the time for which a token stays valid after the deletion of an object on which it
// depends, because the clocks of several servers differ.
const leeway = time.Minute

// ErrInvalid is the error for a token of this issuer that is not valid. It does not reveal the
// reason.
var ErrInvalid = errors.New("the service account token is not valid")

// Objects reads the objects on which tokens depend; ok is false if the object does not exist.
type Objects interface {
	ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, bool, error)
	// Bound reads a pod, secret or node by name. A node has no namespace.
	Bound(ctx context.Context, kind, namespace, name string) (metav1.Object, bool, error)
}

// Authority issues and verifies tokens.
type Authority struct {
	key     *ecdsa.PrivateKey
	now     func() time.Time
	objects Objects
}

var _ authenticator.Token = &Authority{}

// New returns an Authority that signs with the private key in keyPEM, on the curve P-256. It
// rejects all tokens until Read is called.
func New(keyPEM []byte, now func() time.Time) (*Authority, error) {
	key, err := jwt.ParseECPrivateKeyFromPEM(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("key of service account tokens: %w", err)
	}
	return &Authority{key: key, now: now}, nil
}

// Read sets the objects that the Authority reads. It must be called before the Authority is used.
func (a *Authority) Read(objects Objects) { a.objects = objects }

// Request has the content of a token to issue.
type Request struct {
	Account   *corev1.ServiceAccount
	Audiences []string
	Life      time.Duration
	// Bound is the object, of Kind, to which the lifetime of the token is bound, or nil.
	Kind  string
	Bound metav1.Object
	// Node is the node of the pod to which the token is bound, if any.
	Node *corev1.Node
}

// reference identifies an object in a token.
type reference struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

func referenceTo(o metav1.Object) *reference { return &reference{o.GetName(), string(o.GetUID())} }

// kubernetesClaims has the claims that Kubernetes adds to a JWT.
type kubernetesClaims struct {
	Namespace string     `json:"namespace,omitempty"`
	Account   reference  `json:"serviceaccount,omitempty"`
	Pod       *reference `json:"pod,omitempty"`
	Secret    *reference `json:"secret,omitempty"`
	Node      *reference `json:"node,omitempty"`
}

type tokenClaims struct {
	jwt.RegisteredClaims

	Kubernetes kubernetesClaims `json:"kubernetes.io"`
}

// Sign returns a token and the time at which it expires.
func (a *Authority) Sign(r Request) (string, time.Time, error) {
	now := a.now()
	ends := now.Add(r.Life)
	s := tokenClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: Issuer, Subject: serviceaccount.MakeUsername(r.Account.Namespace, r.Account.Name), Audience: r.Audiences,
			IssuedAt:  jwt.NewNumericDate(now),
			NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(ends), ID: uuid.NewString(),
		},
		Kubernetes: kubernetesClaims{Namespace: r.Account.Namespace, Account: *referenceTo(r.Account)},
	}
	if r.Node != nil {
		s.Kubernetes.Node = referenceTo(r.Node)
	}
	if r.Bound != nil {
		switch r.Kind {
		case "Pod":
			s.Kubernetes.Pod = referenceTo(r.Bound)
		case "Secret":
			s.Kubernetes.Secret = referenceTo(r.Bound)
		case "Node":
			s.Kubernetes.Node = referenceTo(r.Bound)
		default:
			return "", time.Time{}, fmt.Errorf("a token cannot be bound to a %s", r.Kind)
		}
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodES256, s).SignedString(a.key)
	return signed, ends, err
}

// AuthenticateToken implements authenticator.Token. It has no opinion about tokens of other
// issuers.
func (a *Authority) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	var s tokenClaims
	unverified, _, err := jwt.NewParser().ParseUnverified(token, &s)
	if err != nil || unverified == nil || s.Issuer != Issuer {
		return nil, false, nil //nolint:nilerr // it may be somebody else's
	}
	s = tokenClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"ES256"}), jwt.WithTimeFunc(a.now),
		jwt.WithExpirationRequired(), jwt.WithIssuer(Issuer))
	if _, err := parser.ParseWithClaims(token, &s, func(*jwt.Token) (any, error) {
		return a.key.Public(),
			nil
	}); err != nil {
		return nil, false, ErrInvalid
	}
	audiences, ok := audiencesFor(ctx, s.Audience)
	if !ok {
		return nil, false, ErrInvalid
	}
	if err := a.check(ctx, &s.Kubernetes); err != nil {
		return nil, false, err
	}
	return &authenticator.Response{User: userOf(&s), Audiences: audiences}, true, nil
}

// audiencesFor returns the audiences of a token that the request accepts. A request that names none
// accepts that of the API.
func audiencesFor(ctx context.Context, has []string) (authenticator.Audiences, bool) {
	asked, ok := authenticator.AudiencesFrom(ctx)
	if !ok || len(asked) == 0 {
		asked = authenticator.Audiences{Issuer}
	}
	both := asked.Intersect(has)
	return both, len(both) > 0
}

// check returns an error unless all objects on which the token depends exist.
func (a *Authority) check(ctx context.Context, p *kubernetesClaims) error {
	if a.objects == nil {
		return ErrInvalid
	}
	account, ok, err := a.objects.ServiceAccount(ctx, p.Namespace, p.Account.Name)
	if err != nil {
		return err
	}
	if !ok || !a.isValidReference(account, &p.Account) {
		return ErrInvalid
	}
	node := p.Node
	if p.Pod != nil {
		node = nil // recorded for information only; the token does not depend on it
	}
	for kind, ref := range map[string]*reference{"Pod": p.Pod, "Secret": p.Secret, "Node": node} {
		if ref == nil {
			continue
		}
		bound, ok, err := a.objects.Bound(ctx, kind, p.Namespace, ref.Name)
		if err != nil {
			return err
		}
		if !ok || !a.isValidReference(bound, ref) {
			return ErrInvalid
		}
	}
	return nil
}

// isValidReference reports whether o is the object that the token names and has not been terminating for
// longer than the leeway. Finalizers may delay the deletion indefinitely.
func (a *Authority) isValidReference(o metav1.Object, ref *reference) bool {
	deleted := o.GetDeletionTimestamp()
	return string(o.GetUID()) == ref.UID && (deleted == nil || !deleted.Time.Before(a.now().Add(-leeway)))
}

func userOf(s *tokenClaims) user.Info {
	info := serviceaccount.ServiceAccountInfo{
		Namespace: s.Kubernetes.Namespace, Name: s.Kubernetes.Account.Name, UID: s.Kubernetes.Account.UID,
		CredentialID: "JTI=" + s.ID,
	}
	if pod := s.Kubernetes.Pod; pod != nil {
		info.PodName, info.PodUID = pod.Name, pod.UID
	}
	if node := s.Kubernetes.Node; node != nil {
		info.NodeName, info.NodeUID = node.Name, node.UID
	}
	return info.UserInfo()
}
