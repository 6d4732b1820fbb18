package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// objects are the existing objects, by kind and name.
type objects map[string]metav1.Object

func (o objects) ServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, bool, error) {
	account, ok := o["ServiceAccount/"+namespace+"/"+name].(*corev1.ServiceAccount)
	return account, ok, nil
}

func (o objects) Bound(_ context.Context, kind, _, name string) (metav1.Object, bool, error) {
	obj, ok := o[kind+"/"+name]
	return obj, ok, nil
}

func meta(name, uid string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)}
}

func key(t *testing.T) []byte {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// fixture is an Authority with a fake clock.
type fixture struct {
	*Authority

	objects objects
	now     time.Time
	account *corev1.ServiceAccount
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		now:     time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC),
		account: &corev1.ServiceAccount{ObjectMeta: meta("robot", "r1")},
	}
	var err error
	if f.Authority, err = New(key(t), func() time.Time { return f.now }); err != nil {
		t.Fatal(err)
	}
	f.objects = objects{"ServiceAccount/ns/robot": f.account}
	f.Read(f.objects)
	return f
}

func (f *fixture) sign(t *testing.T, change func(*Request)) string {
	t.Helper()
	r := Request{Account: f.account, Audiences: []string{Issuer}, Life: time.Hour}
	if change != nil {
		change(&r)
	}
	text, ends, err := f.Sign(r)
	if err != nil || !ends.Equal(f.now.Add(r.Life)) {
		t.Fatalf("ends %s, %v", ends, err)
	}
	return text
}

func (f *fixture) isValid(t *testing.T, text string) bool {
	t.Helper()
	_, ok, err := f.AuthenticateToken(t.Context(), text)
	if !ok && !errors.Is(err, ErrInvalid) {
		t.Errorf("a token of ours is refused with %v", err)
	}
	return ok
}

func TestUserOfToken(t *testing.T) {
	f := newFixture(t)
	pod := &corev1.Pod{ObjectMeta: meta("p", "p1")}
	f.objects["Pod/p"] = pod
	text := f.sign(t, func(r *Request) {
		r.Kind, r.Bound, r.Node = "Pod", pod, &corev1.Node{ObjectMeta: meta("n", "n1")}
	})
	answer, ok, err := f.AuthenticateToken(t.Context(), text)
	if err != nil || !ok {
		t.Fatalf("%t, %v", ok, err)
	}
	who := answer.User
	if who.GetName() != "system:serviceaccount:ns:robot" || who.GetUID() != "r1" {
		t.Errorf("is %s, %s", who.GetName(), who.GetUID())
	}
	if diff := cmp.Diff([]string{"system:serviceaccounts", "system:serviceaccounts:ns"}, who.GetGroups()); diff != "" {
		t.Error(diff)
	}
	extra := who.GetExtra()
	delete(extra, "authentication.kubernetes.io/credential-id")
	want := map[string][]string{
		"authentication.kubernetes.io/pod-name": {"p"}, "authentication.kubernetes.io/pod-uid": {"p1"},
		"authentication.kubernetes.io/node-name": {"n"}, "authentication.kubernetes.io/node-uid": {"n1"},
	}
	if diff := cmp.Diff(want, extra); diff != "" {
		t.Error(diff)
	}
}

// TestTokenIsValidWhileItsObjectsExist checks that a token is no longer valid when it expires, or its
// account or bound object is deleted, and that another object of the same name does not make it
// valid again.
func TestTokenIsValidWhileItsObjectsExist(t *testing.T) {
	f := newFixture(t)
	text := f.sign(t, nil)
	if !f.isValid(t, text) {
		t.Fatal("a new token is not valid")
	}
	f.now = f.now.Add(time.Hour + time.Second)
	if f.isValid(t, text) {
		t.Error("valid after its end")
	}
	f.now = f.now.Add(-2 * time.Hour)
	if f.isValid(t, text) {
		t.Error("valid before its beginning")
	}
	f.now = f.now.Add(90 * time.Minute)
	f.objects["ServiceAccount/ns/robot"] = &corev1.ServiceAccount{ObjectMeta: meta("robot", "r2")}
	if f.isValid(t, text) {
		t.Error("valid for a namesake of the account")
	}
	f.objects["ServiceAccount/ns/robot"] = f.account
	for _, kind := range []string{"Pod", "Secret", "Node"} {
		bound := &corev1.Secret{ObjectMeta: meta("b", "b1")}
		f.objects[kind+"/b"] = bound
		text := f.sign(t, func(r *Request) { r.Kind, r.Bound = kind, bound })
		if !f.isValid(t, text) {
			t.Errorf("not valid while the %s exists", kind)
		}
		f.objects[kind+"/b"] = &corev1.Secret{ObjectMeta: meta("b", "b2")}
		if f.isValid(t, text) {
			t.Errorf("valid with a namesake of the %s", kind)
		}
		held := bound.DeepCopy()
		held.DeletionTimestamp = &metav1.Time{Time: f.now.Add(-leeway)}
		f.objects[kind+"/b"] = held
		if !f.isValid(t, text) {
			t.Errorf("not valid when the %s has just been deleted", kind)
		}
		held.DeletionTimestamp.Time = f.now.Add(-leeway - time.Second)
		if f.isValid(t, text) {
			t.Errorf("valid with a %s that only a finalizer holds", kind)
		}
		delete(f.objects, kind+"/b")
		if f.isValid(t, text) {
			t.Errorf("valid without the %s", kind)
		}
	}
	if _, _, err := f.Sign(Request{Account: f.account, Kind: "ConfigMap", Bound: f.account}); err == nil {
		t.Error("bound to a ConfigMap")
	}
}

// TestForgedTokens checks that tokens with another key, algorithm, content or audience are
// rejected.
func TestForgedTokens(t *testing.T) {
	f, other := newFixture(t), newFixture(t)
	if f.isValid(t, other.sign(t, nil)) {
		t.Error("a token of another key is valid")
	}
	if f.isValid(t, f.sign(t, func(r *Request) { r.Audiences = []string{"elsewhere"} })) {
		t.Error("a token for others is valid here")
	}
	text := f.sign(t, nil)
	parts := strings.Split(text, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
	if f.isValid(t, none+"."+parts[1]+".") {
		t.Error("an unsigned token is valid")
	}
	words, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	changed := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(words), "robot", "admin", 1)))
	if f.isValid(t, parts[0]+"."+changed+"."+parts[2]) {
		t.Error("a changed token is valid")
	}
	for _, text := range []string{"", "secret", "a.b.c", none + ".e30."} {
		if _, ok, err := f.AuthenticateToken(t.Context(), text); ok || err != nil {
			t.Errorf("%q, which is none of ours: %t, %v", text, ok, err)
		}
	}
}

func TestAudiences(t *testing.T) {
	f := newFixture(t)
	text := f.sign(t, func(r *Request) { r.Audiences = []string{"a", "b"} })
	ctx := authenticator.WithAudiences(t.Context(), authenticator.Audiences{"b", "c"})
	answer, ok, err := f.AuthenticateToken(ctx, text)
	if err != nil || !ok {
		t.Fatalf("%t, %v", ok, err)
	}
	if diff := cmp.Diff(authenticator.Audiences{"b"}, answer.Audiences); diff != "" {
		t.Error(diff)
	}
}
