package token

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// secretOnly is a reader of one secret.
type secretOnly struct {
	secret *corev1.Secret
	err    error
}

func (secretOnly) ServiceAccount(context.Context, string, string) (*corev1.ServiceAccount, bool, error) {
	return nil, false, nil
}

func (s secretOnly) Bound(_ context.Context, kind, namespace, name string) (metav1.Object, bool, error) {
	if kind != "Secret" || namespace != "kube-system" || s.err != nil || name != s.secret.Name {
		return nil, false, s.err
	}
	return s.secret, true, nil
}

func TestBootstrap(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	set := func(key, value string) func(*corev1.Secret) {
		return func(s *corev1.Secret) { s.Data[key] = []byte(value) }
	}
	const token = "abcdef.0123456789abcdef"
	for name, c := range map[string]struct {
		token  string
		change func(*corev1.Secret)
		groups []string // none if the token is not valid
	}{
		"valid":         {token, func(*corev1.Secret) {}, []string{"system:bootstrappers"}},
		"of a group":    {token, set("auth-extra-groups", "system:bootstrappers:a:b"), []string{"system:bootstrappers", "system:bootstrappers:a:b"}},
		"valid for now": {token, set("expiration", "2026-01-02T12:00:01Z"), []string{"system:bootstrappers"}},

		"expired":             {token, set("expiration", "2026-01-02T12:00:00Z"), nil},
		"expires at no time":  {token, set("expiration", "tomorrow"), nil},
		"another secret":      {"abcdef.0123456789abcdeg", func(*corev1.Secret) {}, nil},
		"another id":          {"abcdeg.0123456789abcdef", func(*corev1.Secret) {}, nil},
		"not a token":         {"abcdef.0123456789abcdef.", func(*corev1.Secret) {}, nil},
		"too short":           {"abcdef.0123456789", func(*corev1.Secret) {}, nil},
		"of another purpose":  {token, set("usage-bootstrap-authentication", "false"), nil},
		"id of another token": {token, set("token-id", "abcdeg"), nil},
		"of a wrong group":    {token, set("auth-extra-groups", "system:masters"), nil},
		"of another type":     {token, func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }, nil},
		"being deleted":       {token, func(s *corev1.Secret) { s.DeletionTimestamp = &metav1.Time{Time: now} }, nil},
		"empty":               {token, func(s *corev1.Secret) { s.Data = nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef"},
				Type:       "bootstrap.kubernetes.io/token",
				Data: map[string][]byte{
					"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef"),
					"usage-bootstrap-authentication": []byte("true"),
				},
			}
			c.change(secret)
			b := NewBootstrap(func() time.Time { return now })
			b.Read(secretOnly{secret: secret})
			got, ok, err := b.AuthenticateToken(t.Context(), c.token)
			if err != nil || ok != (c.groups != nil) {
				t.Fatalf("valid is %t, error %v", ok, err)
			}
			if ok && (got.User.GetName() != "system:bootstrap:abcdef" || !slices.Equal(got.User.GetGroups(), c.groups)) {
				t.Errorf("user %s of %q", got.User.GetName(), got.User.GetGroups())
			}
		})
	}
	b := NewBootstrap(time.Now)
	if _, ok, err := b.AuthenticateToken(t.Context(), token); ok || err != nil {
		t.Errorf("without secrets: valid is %t, error %v", ok, err)
	}
	b.Read(secretOnly{err: errors.New("no")})
	if _, ok, err := b.AuthenticateToken(t.Context(), token); ok || err == nil {
		t.Errorf("secrets that cannot be read: valid is %t, error %v", ok, err)
	}
}
