package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/etcd"
)

// waiting makes n pods that are on no node, and gives a placement of them.
func waiting(t *testing.T, c *kubernetes.Clientset, ns string, n int) *placement.Placement {
	t.Helper()
	p := &placement.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "gang"}}
	for i := range n {
		pod, err := c.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p-%d", i)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "pause"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p.Spec.Pods = append(
			p.Spec.Pods,
			placement.PodPlacement{
				Name:            pod.Name,
				UID:             pod.UID,
				ResourceVersion: pod.ResourceVersion,
				NodeName:        fmt.Sprintf("n-%d", i),
			},
		)
	}
	return p
}

func setOf(t *testing.T, cfg *rest.Config) *client.Set {
	t.Helper()
	set, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// bound is the node of each pod of the namespace that is on one.
func bound(t *testing.T, c *kubernetes.Clientset, ns string) map[string]string {
	t.Helper()
	list, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]string{}
	for _, pod := range list.Items {
		if pod.Spec.NodeName != "" {
			on[pod.Name] = pod.Spec.NodeName
		}
	}
	return on
}

// R50: all pods of a placement are bound, as by a bind of each; and when it is asked for again,
// nothing is written.
func TestPlacementBindsAll(t *testing.T) {
	c, set, ns := clientset(t, shared.Loopback()), setOf(t, shared.Loopback()), namespace(t)
	zone := uniqueName("node")
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: zone, Labels: map[string]string{corev1.LabelTopologyZone: "z1"}},
	}
	if _, err := c.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := waiting(t, c, ns, 3)
	p.Spec.Pods[0].NodeName = zone
	if yes, err := set.ServesPlacements(t.Context()); err != nil || !yes {
		t.Fatalf("serves placements: %t, %v", yes, err)
	}
	answer, err := set.Place(t.Context(), p)
	if err != nil || len(answer.Status.Unbound) > 0 {
		t.Fatalf("unbound %v, %v", answer.Status.Unbound, err)
	}
	if on := bound(t, c, ns); len(on) != 3 || on["p-0"] != zone || on["p-1"] != "n-1" {
		t.Errorf("bound %v", on)
	}
	pod, err := c.CoreV1().Pods(ns).Get(t.Context(), "p-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pod.Status.Conditions) != 1 || pod.Status.Conditions[0].Status != corev1.ConditionTrue ||
		pod.Labels[corev1.LabelTopologyZone] != "z1" {
		t.Errorf("conditions %v, labels %v", pod.Status.Conditions, pod.Labels)
	}
	if _, err := set.Place(t.Context(), p); err != nil {
		t.Errorf("again: %v", err)
	}
	again, err := c.CoreV1().Pods(ns).Get(t.Context(), "p-0", metav1.GetOptions{})
	if err != nil || again.ResourceVersion != pod.ResourceVersion {
		t.Errorf("version %s became %s, %v", pod.ResourceVersion, again.ResourceVersion, err)
	}
}

// R50: if a pod cannot be bound, none is, and the answer names each that cannot.
func TestPlacementThatConflictsBindsNothing(t *testing.T) {
	c, set, ns := clientset(t, shared.Loopback()), setOf(t, shared.Loopback()), namespace(t)
	p := waiting(t, c, ns, 6)
	elsewhere := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "p-1"},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "elsewhere"},
	}
	if err := c.CoreV1().Pods(ns).Bind(t.Context(), elsewhere, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Pods(ns).Patch(t.Context(), "p-2", "application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "p-3",
		metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	p.Spec.Pods[4].UID = "another"
	_, err := set.Place(t.Context(), p)
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) {
		t.Fatalf("got %v, want a conflict", err)
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		fields = append(fields, cause.Field)
	}
	if want := []string{"spec.pods[1]", "spec.pods[2]", "spec.pods[3]", "spec.pods[4]"}; !slices.Equal(fields, want) {
		t.Errorf("causes at %v, want %v", fields, want)
	}
	if on := bound(t, c, ns); len(on) != 1 {
		t.Errorf("bound %v", on)
	}
}

// R50: pods that change all the time while a gang is bound do not make it fail. Each of a thousand
// gets conditions while the gang waits.
func TestPlacementOfPodsThatChange(t *testing.T) {
	const size = 300
	c, set, ns := clientset(t, shared.Loopback()), setOf(t, shared.Loopback()), namespace(t)
	p := waiting(t, c, ns, size)
	for i := range p.Spec.Pods {
		p.Spec.Pods[i].ResourceVersion = ""
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers errgroup.Group
	started := make(chan struct{}, 1)
	for w := range 8 {
		writers.Go(func() error {
			for n := w; ctx.Err() == nil; n++ {
				patch := fmt.Sprintf(`{"status":{"message":"%d-%d"}}`, w, n)
				if _, err := c.CoreV1().Pods(ns).Patch(t.Context(), p.Spec.Pods[n*17%size].Name, types.MergePatchType,
					[]byte(patch), metav1.PatchOptions{}, "status"); err != nil {
					return err
				}
				if n == 0 {
					started <- struct{}{}
				}
			}
			return nil
		})
	}
	receiveInTime(t, started)
	_, err := set.Place(t.Context(), p)
	stop()
	if err := errors.Join(err, writers.Wait()); err != nil {
		t.Error(err)
	}
	if on := bound(t, c, ns); len(on) != size {
		t.Errorf("bound %d of %d", len(on), size)
	}
}

func TestPlacementIsValidated(t *testing.T) {
	set, ns := setOf(t, shared.Loopback()), namespace(t)
	for name, pods := range map[string][]placement.PodPlacement{
		"spec.pods":             nil,
		"spec.pods[0].name":     {{Name: "UPPER", NodeName: "n"}},
		"spec.pods[0].nodeName": {{Name: "p"}},
		"spec.pods[1].name":     {{Name: "p", NodeName: "n"}, {Name: "p", NodeName: "n"}},
	} {
		_, err := set.Place(t.Context(),
			&placement.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: ns}, Spec: placement.PlacementSpec{Pods: pods}})
		if got := causes(t, err); !slices.Equal(got, []string{name}) {
			t.Errorf("causes at %v, want %s", got, name)
		}
	}
}

// A user needs the right to bind each pod, not only to place.
func TestPlacementNeedsTheRightToBind(t *testing.T) {
	c, ns := clientset(t, shared.Loopback()), namespace(t)
	p := waiting(t, c, ns, 2)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"create"}, APIGroups: []string{placement.GroupName}, Resources: []string{"placements"}},
		{
			Verbs:         []string{"create"},
			APIGroups:     []string{""},
			Resources:     []string{"pods/binding"},
			ResourceNames: []string{"p-0"},
		},
	}}
	if _, err := c.RbacV1().Roles(ns).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "r"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "r"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "placer"}},
	}
	if _, err := c.RbacV1().RoleBindings(ns).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cfg := remote(t)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "placer", Groups: []string{"system:authenticated"}}
	set := setOf(t, cfg)
	var err error
	var status apierrors.APIStatus
	eventually(t, "the role counts", func() bool {
		_, err = set.Place(t.Context(), p)
		return errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) == 1
	})
	if !apierrors.IsForbidden(err) || status.Status().Details.Causes[0].Field != "spec.pods[1]" {
		t.Fatalf("got %v, want that the second pod is forbidden", err)
	}
	if on := bound(t, c, ns); len(on) > 0 {
		t.Errorf("bound %v", on)
	}
	p.Spec.Pods = p.Spec.Pods[:1]
	if _, err := set.Place(t.Context(), p); err != nil {
		t.Error(err)
	}
}

// events gives the names of the next pods that a watch from a version tells of, and the version of
// the last.
func events(t *testing.T, c *kubernetes.Clientset, ns, version string, n int) (names []string, last string) {
	t.Helper()
	w, err := c.CoreV1().Pods(ns).Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for len(names) < n {
		event := receiveInTime(t, w.ResultChan())
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || event.Type != watch.Modified {
			t.Fatalf("event %s of %v", event.Type, event.Object)
		}
		names, last = append(names, pod.Name), pod.ResourceVersion
	}
	return names, last
}

// A watch that is cut after any event of a placement, and begins again at the version of that
// event, sees all others.
func TestWatchThatIsCutWithinAPlacementMissesNothing(t *testing.T) {
	c, set, ns := clientset(t, remote(t)), setOf(t, shared.Loopback()), namespace(t)
	p := waiting(t, c, ns, 8)
	list, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Place(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	version, seen := list.ResourceVersion, map[string]bool{}
	for range p.Spec.Pods {
		var names []string
		names, version = events(t, c, ns, version, 1)
		if seen[names[0]] {
			t.Errorf("%s is told of twice", names[0])
		}
		seen[names[0]] = true
	}
	if len(seen) != 8 {
		t.Errorf("seen %v", seen)
	}
}

// ownServer is a server of the test alone.
func ownServer(t *testing.T, dir string) (*apiserver.Server, func()) {
	t.Helper()
	server, err := apiserver.Start(t.Context(), apiserver.Config{DataDir: dir, UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	return server, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
}

// This is why a placement is not one transaction that writes all pods (docs/adr/0009): a watch that
// is cut between two events of one revision, and begins again at that version, never tells of the
// second. If this test fails, the library has learned to.
func TestEventsOfOneRevisionAreLostToAWatchThatIsCut(t *testing.T) {
	dir := t.TempDir()
	server, stop := ownServer(t, dir)
	defer stop()
	c := clientset(t, server.Loopback())
	waiting(t, c, "default", 3)
	list, err := c.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := clientv3.New(
		clientv3.Config{Endpoints: []string{"unix://" + filepath.Join(dir, "etcd", "etcd.sock")}, Context: t.Context()},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	again := func(names ...string) {
		var puts []clientv3.Op
		for _, name := range names {
			key := "/registry/pods/default/" + name
			stored, err := store.Get(t.Context(), key)
			if err != nil || len(stored.Kvs) != 1 {
				t.Fatalf("%s: %v, %v", key, stored, err)
			}
			puts = append(puts, clientv3.OpPut(key, string(stored.Kvs[0].Value)))
		}
		if _, err := store.Txn(t.Context()).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	again("p-0", "p-1")
	again("p-2")
	if names, _ := events(t, c, "default", list.ResourceVersion, 3); !slices.Equal(names, []string{"p-0", "p-1", "p-2"}) {
		t.Fatalf("a watch that is not cut tells of %v", names)
	}
	first, version := events(t, c, "default", list.ResourceVersion, 1)
	next, _ := events(t, c, "default", version, 1)
	if !slices.Equal(first, []string{"p-0"}) || !slices.Equal(next, []string{"p-2"}) {
		t.Errorf("a watch that is cut tells of %v and then of %v", first, next)
	}
}

// R50: a server that was killed after it had recorded a placement completes it before it answers
// anybody.
func TestPlacementIsCompletedAfterACrash(t *testing.T) {
	dir := t.TempDir()
	server, stop := ownServer(t, dir)
	c := clientset(t, server.Loopback())
	p := waiting(t, c, "default", 4)
	if err := c.CoreV1().Pods("default").Delete(t.Context(), "p-3",
		metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	first := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "p-0"},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "n-0"},
	}
	if err := c.CoreV1().Pods("default").Bind(t.Context(), first, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stop()

	member, err := etcd.Start(t.Context(), etcd.Options{Dir: filepath.Join(dir, "etcd"), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	entry := `{"namespace":"default","pods":[`
	for i, pod := range p.Spec.Pods {
		if i > 0 {
			entry += ","
		}
		entry += fmt.Sprintf(`{"name":%q,"uid":%q,"node":%q,"labels":{"of":"admission"}}`, pod.Name, pod.UID, pod.NodeName)
	}
	if _, err := member.Client().Put(t.Context(), "/allot/journal/one", entry+"]}"); err != nil {
		t.Fatal(err)
	}
	if err := member.Close(); err != nil {
		t.Fatal(err)
	}

	server, stop = ownServer(t, dir)
	c = clientset(t, server.Loopback())
	if on := bound(t, c, "default"); len(on) != 3 || on["p-0"] != "n-0" || on["p-1"] != "n-1" || on["p-2"] != "n-2" {
		t.Errorf("bound %v", on)
	}
	pod, err := c.CoreV1().Pods("default").Get(t.Context(), "p-1", metav1.GetOptions{})
	if err != nil || pod.Labels["of"] != "admission" {
		t.Errorf("labels %v, %v", pod.Labels, err)
	}
	stop()

	if member, err = etcd.Start(t.Context(), etcd.Options{Dir: filepath.Join(dir, "etcd"),
		UnsafeNoFsync: true}); err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	if left, err := member.Client().Get(t.Context(), "/allot/", clientv3.WithPrefix()); err != nil || len(left.Kvs) > 0 {
		t.Errorf("the journal has %v, %v", left, err)
	}
}
