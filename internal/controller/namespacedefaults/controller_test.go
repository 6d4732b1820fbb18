package namespacedefaults

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/client"
)

// objects is a cache of the objects of a test, by namespace.
type objects[T any] map[string]T

func (o objects[T]) Get(namespace, name string) (T, bool) {
	obj, ok := o[namespace+"/"+name]
	return obj, ok
}

// recorder records writes.
type recorder struct {
	writes []string
	err    error
}

func (r *recorder) CreateServiceAccount(_ context.Context, a *corev1.ServiceAccount) error {
	r.writes = append(r.writes, "create serviceaccount "+a.Namespace+"/"+a.Name)
	return r.err
}

func (r *recorder) CreateConfigMap(_ context.Context, m *corev1.ConfigMap) error {
	r.writes = append(r.writes, "create configmap "+m.Namespace+"/"+m.Name+" "+m.Data["ca.crt"])
	return r.err
}

func (r *recorder) UpdateConfigMap(_ context.Context, m *corev1.ConfigMap) error {
	r.writes = append(r.writes, "update configmap "+m.Namespace+"/"+m.Name+" "+m.Data["ca.crt"])
	return r.err
}

func TestReconcile(t *testing.T) {
	account := objects[*corev1.ServiceAccount]{"ns/" + client.DefaultServiceAccount: {}}
	certificates := func(data string) objects[*corev1.ConfigMap] {
		return objects[*corev1.ConfigMap]{"ns/" + client.RootCAConfigMap: {
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns",
				Name:      client.RootCAConfigMap,
			}, Data: map[string]string{"ca.crt": data},
		}}
	}
	const createAccount, createMap = "create serviceaccount ns/default", "create configmap ns/kube-root-ca.crt CA"
	for _, tt := range []struct {
		name     string
		ns       *corev1.Namespace
		accounts objects[*corev1.ServiceAccount]
		maps     objects[*corev1.ConfigMap]
		rootCA   string
		want     []string
	}{
		{"new namespace", &corev1.Namespace{}, nil, nil, "CA", []string{createAccount, createMap}},
		{"no certificates", &corev1.Namespace{}, nil, nil, "", []string{createAccount}},
		{"everything there", &corev1.Namespace{}, account, certificates("CA"), "CA", nil},
		{"account deleted", &corev1.Namespace{}, nil, certificates("CA"), "CA", []string{createAccount}},
		{"map changed", &corev1.Namespace{}, account, certificates("x"), "CA",
			[]string{"update configmap ns/kube-root-ca.crt CA"}},
		{"terminating", &corev1.Namespace{Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}}, nil, nil, "CA",
			nil},
	} {
		r := &recorder{}
		c := &Controller{
			namespaces: objects[*corev1.Namespace]{"/ns": tt.ns},
			accounts:   tt.accounts,
			maps:       tt.maps,
			write:      r,
			rootCA:     tt.rootCA,
		}
		if err := c.Reconcile(t.Context(), "ns"); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if !slices.Equal(r.writes, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, r.writes, tt.want)
		}
	}
	failing := errors.New("no answer")
	c := &Controller{
		namespaces: objects[*corev1.Namespace]{"/ns": {}},
		accounts:   objects[*corev1.ServiceAccount]{},
		write:      &recorder{err: failing},
	}
	if err := c.Reconcile(t.Context(), "ns"); !errors.Is(err, failing) {
		t.Errorf("got %v, want the error of the write", err)
	}
}
