package apiserver_test

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/etcd"
)

func TestNamespaceLife(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	namespaces := client.CoreV1().Namespaces()
	got, err := namespaces.Get(t.Context(), ns, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status.Phase != corev1.NamespaceActive || got.Labels[corev1.LabelMetadataName] != ns ||
		!slices.Contains(got.Spec.Finalizers, corev1.FinalizerKubernetes) {
		t.Errorf("new namespace: %+v", got)
	}
	if err := namespaces.Delete(t.Context(), ns, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err = namespaces.Get(t.Context(), ns, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if got.Status.Phase != corev1.NamespaceTerminating || got.DeletionTimestamp == nil {
		t.Errorf("deleted namespace: %+v", got)
	}
	_, err = client.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap("m", nil), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("create in a terminating namespace: got %v", err)
	}
	got.Spec.Finalizers = nil
	if _, err := namespaces.Finalize(t.Context(), got, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := namespaces.Get(t.Context(), ns, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after finalize: got %v, want not found", err)
	}
	eventually(t, "missing", func() bool {
		_, err = client.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap("m", nil), metav1.CreateOptions{})
		if err == nil {
			t.Fatal("something was made in a missing namespace")
		}
		return apierrors.IsNotFound(err)
	})
}

func TestSystemObjects(t *testing.T) {
	client := clientset(t, remote(t))
	for _, ns := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		if _, err := client.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "kube-system",
		metav1.DeleteOptions{}); !apierrors.IsForbidden(
		err,
	) {
		t.Errorf("delete of kube-system: got %v, want forbidden", err)
	}
}

func TestRestartKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	cfg := apiserver.Config{DataDir: dir, UnsafeNoFsync: true}
	first := startServer(t, cfg)
	if _, err := apiserver.Start(t.Context(), cfg); !errors.Is(err, etcd.ErrInUse) {
		t.Fatalf("second server on the same data: got %v, want %v", err, etcd.ErrInUse)
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := first.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	old := configFrom(t, path)
	made, err := clientset(t, first.Loopback()).CoreV1().ConfigMaps(
		"default",
	).Create(t.Context(), configMap("m", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stopServer(t, first)
	if _, err := clientset(t, first.Loopback()).CoreV1().ConfigMaps("default").Get(t.Context(), "m",
		metav1.GetOptions{}); err == nil {
		t.Error("a stopped server answers")
	}

	second := startServer(t, cfg)
	if err := second.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	renewed := configFrom(t, path)
	if string(old.CertData) != string(renewed.CertData) || string(old.CAData) != string(renewed.CAData) {
		t.Error("certificates changed with the restart")
	}
	got, err := clientset(t, renewed).CoreV1().ConfigMaps("default").Get(t.Context(), "m", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.UID != made.UID || got.ResourceVersion != made.ResourceVersion {
		t.Errorf("got %s at %s, want %s at %s", got.UID, got.ResourceVersion, made.UID, made.ResourceVersion)
	}
}

// TestStopEndsWatches checks that open watches do not delay a stop.
func TestStopEndsWatches(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, apiserver.Config{DataDir: dir, UnsafeNoFsync: true})
	path := filepath.Join(dir, "kubeconfig")
	if err := s.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []*struct{ remote bool }{{true}, {false}} {
		client := clientset(t, s.Loopback())
		if cfg.remote {
			client = clientset(t, configFrom(t, path))
		}
		w, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Done():
	default:
		t.Error("Stop returned before the server was done")
	}
}

func TestContextEndsTheServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := apiserver.Start(ctx, apiserver.Config{DataDir: t.TempDir(), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-s.Done():
	case <-time.After(time.Minute):
		t.Fatal("the server goes on after its context ended")
	}
	if s.Err() != nil {
		t.Error(s.Err())
	}
}

func TestScale(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t)).AppsV1()
	create(t, ns, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      schedulingGroup: {podGroupName: g}
      resourceClaims:
      - {name: r, podGroupResourceClaim: shared}
      containers:
      - {name: c, image: i}
`)
	scale, err := client.Deployments(ns).GetScale(t.Context(), "d", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 1 || scale.Status.Selector != "a=b" {
		t.Errorf("scale is %+v", scale)
	}
	stale := scale.DeepCopy()
	scale.Spec.Replicas = 4
	if _, err := client.Deployments(ns).UpdateScale(t.Context(), "d", scale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Deployments(ns).UpdateScale(t.Context(), "d", stale,
		metav1.UpdateOptions{}); !apierrors.IsConflict(
		err,
	) {
		t.Errorf("stale scale: got %v, want conflict", err)
	}
	_, err = client.Deployments(ns).UpdateScale(t.Context(), "d", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: ns}, Spec: autoscalingv1.ScaleSpec{Replicas: -1},
	}, metav1.UpdateOptions{})
	if got := causes(t, err); !slices.Equal(got, []string{"spec.replicas"}) {
		t.Errorf("negative scale: fields %v", got)
	}
	if err := client.RESTClient().Patch(types.MergePatchType).Namespace(ns).
		Resource("deployments").Name("d").SubResource("scale").
		Body([]byte(`{"spec":{"replicas":2}}`)).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	u, err := dynamicClient(t).Resource(deploymentsResource).Namespace(ns).Get(t.Context(), "d", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if nested(t, u, "spec", "replicas") != "2" || u.GetGeneration() != 3 {
		t.Errorf("replicas %s, generation %d", nested(t, u, "spec", "replicas"), u.GetGeneration())
	}
	if got := templateClaims(t, ns); !slices.Equal(got, []string{"r=shared"}) {
		t.Errorf("claims are %v", got)
	}
}

// TestOtherEtcd runs two servers on one external etcd.
func TestOtherEtcd(t *testing.T) {
	member, err := etcd.Start(t.Context(), etcd.Options{Dir: t.TempDir(), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := member.Close(); err != nil {
			t.Error(err)
		}
	})
	servers := []string{member.Endpoint()}
	few := netip.MustParsePrefix("10.7.0.0/28")
	a := startServer(t, apiserver.Config{
		DataDir: t.TempDir(), Etcd: apiserver.ExternalEtcd{URLs: servers}, ServiceClusterIPRange: few,
	})
	b := startServer(t, apiserver.Config{
		DataDir: t.TempDir(), Etcd: apiserver.ExternalEtcd{URLs: servers}, ServiceClusterIPRange: few,
	})
	w, err := clientset(t, b.Loopback()).CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := clientset(t, a.Loopback()).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("m", nil),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if e := receiveInTime(t, w.ResultChan()); e.Object.(*corev1.ConfigMap).Name != "m" {
		t.Errorf("the other server's watch: %v", e)
	}
	fillRange(t, a, b)
}

// A server that is stopped at any time during its start shuts down correctly, and can be started
// again.
func TestStopWhileStarting(t *testing.T) {
	cfg := apiserver.Config{DataDir: t.TempDir(), UnsafeNoFsync: true}
	for delay := 20 * time.Millisecond; delay < 600*time.Millisecond; delay += 40 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), delay)
		s, err := apiserver.Start(ctx, cfg)
		if err == nil {
			<-s.Done() // ctx ends it
			err = s.Err()
		}
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", delay, err)
		}
	}
}
