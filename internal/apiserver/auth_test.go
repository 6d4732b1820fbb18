package apiserver_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/apiserver"
)

func TestWithoutCredentialsIsUnauthorized(t *testing.T) {
	for _, token := range []string{"", "wrong"} {
		cfg := rest.AnonymousClientConfig(remote(t))
		cfg.BearerToken = token
		client, err := rest.HTTPClientFor(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/api", "/apis", "/api/v1/pods", "/readyz/etcd", "/metrics", "/openapi/v2",
			"/apis/example.com/v1/things"} {
			resp, err := client.Get(shared.URL() + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("token %q, %s: got %d, want 401", token, path, resp.StatusCode)
			}
		}
	}
}

func TestForeignCertificateIsUnauthorized(t *testing.T) {
	other := startServer(t, apiserver.Config{DataDir: t.TempDir(), UnsafeNoFsync: true})
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := other.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	cfg := remote(t)
	foreign := configFrom(t, path)
	cfg.CertData, cfg.KeyData = foreign.CertData, foreign.KeyData
	_, err := clientset(t, cfg).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("got %v, want unauthorized", err)
	}
}

// TestUserWithoutRolesMayOnlyDiscover checks that a user outside of system:masters may only discover the API.
func TestUserWithoutRolesMayOnlyDiscover(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte("secret,jane,1,\"developers\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, apiserver.Config{DataDir: dir, UnsafeNoFsync: true, TokenFile: tokens})
	path := filepath.Join(dir, "kubeconfig")
	if err := s.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	cfg := rest.AnonymousClientConfig(configFrom(t, path))
	cfg.BearerToken = "secret"
	client := clientset(t, cfg)
	if _, err := client.Discovery().ServerVersion(); err != nil {
		t.Errorf("version: %v", err)
	}
	if _, err := client.Discovery().ServerPreferredResources(); err != nil {
		t.Errorf("discovery: %v", err)
	}
	if _, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list pods: got %v, want forbidden", err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); !apierrors.IsForbidden(
		err,
	) {
		t.Errorf("get namespace: got %v, want forbidden", err)
	}
}

func TestKubeconfigIsPrivate(t *testing.T) {
	info, err := os.Stat(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v", info.Mode())
	}
}

func TestVersionAndHealth(t *testing.T) {
	client := clientset(t, remote(t))
	v, err := client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if v.Major != "1" || v.Minor != "37" || v.GitVersion != apiserver.KubernetesVersion+"+allot" {
		t.Errorf("version is %+v", v)
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		body, err := client.RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		if err != nil || string(body) != "ok" {
			t.Errorf("%s: %q, %v", path, body, err)
		}
	}
	if _, err := client.RESTClient().Get().AbsPath("/metrics").Timeout(10 * time.Second).DoRaw(t.Context()); err != nil {
		t.Errorf("/metrics: %v", err)
	}
}
