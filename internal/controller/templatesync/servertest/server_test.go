package servertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/claim"
	"github.com/allot-dev/allot/internal/controller/garbagecollector"
	"github.com/allot-dev/allot/internal/controller/templatesync"
	"github.com/allot-dev/allot/internal/metrics"
)

// patience limits how long a test waits for an expected change.
const patience = time.Minute

// The server, and the administrator's clients.
var (
	admin   *rest.Config
	typed   *kubernetes.Clientset
	objects *dynamic.DynamicClient
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	klog.SetOutput(os.Stderr)
	klog.LogToStderr(false)
	dir, err := os.MkdirTemp("", "allot-templates-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	server, err := apiserver.Start(context.Background(), apiserver.Config{DataDir: dir, UnsafeNoFsync: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer func() {
		cancel()
		stop, done := context.WithTimeout(context.Background(), time.Minute)
		defer done()
		if err := server.Stop(stop); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	err = errors.Join(connect(server, filepath.Join(dir, "kubeconfig")), startOthers(ctx, server), install(ctx),
		established(ctx))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func connect(server *apiserver.Server, path string) (err error) {
	if err = server.WriteKubeconfig(path); err != nil {
		return err
	}
	if admin, err = clientcmd.BuildConfigFromFlags("", path); err != nil {
		return err
	}
	admin.QPS = -1
	if typed, err = kubernetes.NewForConfig(admin); err != nil {
		return err
	}
	objects, err = dynamic.NewForConfig(admin)
	return err
}

// startOthers runs the controllers that generate claims and delete the copies of deleted originals.
func startOthers(ctx context.Context, server *apiserver.Server) error {
	set, err := client.New(server.Loopback())
	if err != nil {
		return err
	}
	caches := client.NewInformers(set)
	events := record.NewFakeRecorder(100000)
	claims, err := claim.New(set, caches, events, metrics.New().Claims, claim.Options{})
	if err != nil {
		return err
	}
	collector, err := garbagecollector.New(set, caches, events)
	if err != nil {
		return err
	}
	caches.Start(ctx)
	go claims.Run(ctx)    //nolint:errcheck // ends with ctx
	go collector.Run(ctx) //nolint:errcheck // ends with ctx
	return caches.WaitForSync(ctx)
}

// install applies the manifests.
func install(ctx context.Context) error {
	groups, err := restmapper.GetAPIGroupResources(typed.Discovery())
	if err != nil {
		return err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(templatesync.Manifests()), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := d.Decode(u)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		mapping, err := mapper.RESTMapping(u.GroupVersionKind().GroupKind())
		if err != nil {
			return err
		}
		resource := objects.Resource(mapping.Resource)
		create := resource.Create
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			create = resource.Namespace(u.GetNamespace()).Create
		}
		if _, err := create(ctx, u, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
}

// established waits until the kind is served.
func established(ctx context.Context) error {
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err = objects.Resource(resource).List(ctx, metav1.ListOptions{}); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the kind is not served: %w", err)
}

// start runs the controller for a test, as its service account, and returns when it is ready.
func start(t *testing.T, opts templatesync.Options) *wire {
	t.Helper()
	w := newWire()
	cfg := rest.CopyConfig(admin)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:allot-system:allot-template-sync"}
	cfg.Wrap(w.wrap)
	ctx, cancel := context.WithCancel(t.Context())
	users, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: users.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: templatesync.FieldManager})
	s, err := templatesync.New(cfg, recorder, metrics.New().Templates, opts)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	w.end = sync.OnceFunc(func() {
		cancel()
		close(w.stopped)
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		broadcaster.Shutdown()
	})
	t.Cleanup(w.end)
	select {
	case <-s.Ready():
	case <-time.After(patience):
		t.Fatalf("the controller is not ready in time: %v", w.requests)
	}
	return w
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within %s: %s", patience, what)
}

// must ends the test if a call fails.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
