package apiserver_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/features"
)

// shared is the server of all tests of the package. Each test has its own namespace.
var shared *apiserver.Server

// kubeconfig is the administrator's, for clients that connect over the network.
var kubeconfig string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	dir, err := os.MkdirTemp("", "allot-apiserver-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	shared, err = apiserver.Start(
		context.Background(),
		apiserver.Config{DataDir: dir, UnsafeNoFsync: true, Features: features.All()},
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := shared.WriteKubeconfig(kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := shared.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// remote returns a client configuration that uses the network.
func remote(t *testing.T) *rest.Config {
	t.Helper()
	return configFrom(t, kubeconfig)
}

func clientset(t *testing.T, cfg *rest.Config) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dynamicClient(t *testing.T) *dynamic.DynamicClient {
	t.Helper()
	c, err := dynamic.NewForConfig(remote(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// namespace creates a namespace for the test.
func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	ns, err := clientset(t, shared.Loopback()).CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// uniqueNames is the number of names that unique has returned.
var uniqueNames atomic.Int32

// uniqueName returns a name for a cluster-scoped object that no other test, and no other run of the
// test, uses.
func uniqueName(name string) string { return fmt.Sprintf("%s-%d", name, uniqueNames.Add(1)) }

// parse returns the objects of a YAML text.
func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := d.Decode(u)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
}

func parseFile(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(bytes.TrimSpace(data)))
}

// causes returns the fields of a 422 response.
func causes(t *testing.T, err error) []string {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || status.Status().Code != 422 {
		t.Fatalf("got %v, want a 422 with details", err)
	}
	var out []string
	for _, c := range status.Status().Details.Causes {
		out = append(out, c.Field)
	}
	return out
}

// receiveInTime calls next, and fails the test if it does not return in time.
func receiveInTime[T any](t *testing.T, next <-chan T) T {
	t.Helper()
	select {
	case v, ok := <-next:
		if !ok {
			t.Fatal("the stream ended")
		}
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing came in time")
	}
	panic("unreachable")
}

// startServer starts a server for one test.
func startServer(t *testing.T, cfg apiserver.Config) *apiserver.Server {
	t.Helper()
	s, err := apiserver.Start(context.WithoutCancel(t.Context()), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopServer(t, s) })
	return s
}

func stopServer(t *testing.T, s *apiserver.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func configFrom(t *testing.T, path string) *rest.Config {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS = -1
	return cfg
}
