package apiserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func configMap(name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func makeConfigMaps(t *testing.T, client kubernetes.Interface, ns string, n int) {
	t.Helper()
	for i := range n {
		m := configMap(fmt.Sprintf("m-%02d", i), nil)
		if _, err := client.CoreV1().ConfigMaps(ns).Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPaging(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	makeConfigMaps(t, client, ns, 7)
	var names []string
	opts := metav1.ListOptions{Limit: 3}
	pages := 0
	for {
		page, err := client.CoreV1().ConfigMaps(ns).List(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for i := range page.Items {
			names = append(names, page.Items[i].Name)
		}
		if page.Continue == "" {
			break
		}
		if want := int64(7 - 3*pages); page.RemainingItemCount == nil || *page.RemainingItemCount != want {
			t.Errorf("page %d: remaining %v, want %d", pages, page.RemainingItemCount, want)
		}
		opts.Continue = page.Continue
	}
	if pages != 3 || len(names) != 7 || !slices.IsSorted(names) {
		t.Errorf("%d pages with %v", pages, names)
	}
	opts = metav1.ListOptions{Limit: 3, Continue: "nonsense"}
	if _, err := client.CoreV1().ConfigMaps(ns).List(t.Context(), opts); !apierrors.IsBadRequest(err) {
		t.Errorf("bad continue token: got %v, want a bad request", err)
	}
}

func TestResourceVersions(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	makeConfigMaps(t, client, ns, 2)
	maps := client.CoreV1().ConfigMaps(ns)
	list, err := maps.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), "m-00", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	old, err := maps.List(t.Context(),
		metav1.ListOptions{ResourceVersion: list.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if err != nil {
		t.Fatal(err)
	}
	if len(old.Items) != 2 {
		t.Errorf("exact old version has %d items, want 2", len(old.Items))
	}
	// Clients wait and retry by themselves; here only the first response counts.
	err = client.CoreV1().RESTClient().Get().Namespace(ns).Resource("configmaps").Param("resourceVersion", "99999999").
		MaxRetries(0).Do(t.Context()).Error()
	if !apierrors.IsTimeout(err) && !isTooLarge(err) {
		t.Errorf("version of the future: got %v, want a timeout", err)
	}
	w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e := receiveInTime(t, w.ResultChan()); e.Type != watch.Deleted || e.Object.(*corev1.ConfigMap).Name != "m-00" {
		t.Errorf("watch from the old version: %v", e)
	}
}

func isTooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

func TestWatchSelectorAndBookmarks(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	w, err := client.CoreV1().ConfigMaps(ns).Watch(t.Context(), metav1.ListOptions{LabelSelector: "in=yes"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for _, m := range []*corev1.ConfigMap{configMap("out", nil), configMap("in", map[string]string{"in": "yes"})} {
		if _, err := client.CoreV1().ConfigMaps(ns).Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.CoreV1().ConfigMaps(ns).Patch(t.Context(), "in", "application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"in":"no"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ADDED in", "DELETED in"} {
		e := receiveInTime(t, w.ResultChan())
		if m, ok := e.Object.(*corev1.ConfigMap); !ok || string(e.Type)+" "+m.Name != want {
			t.Fatalf("event %s: %v, want %s", e.Type, e.Object, want)
		}
	}
	lastBookmark(t, client, ns)
}

// lastBookmark checks that a watch without changes ends with a bookmark of the current version.
func lastBookmark(t *testing.T, client kubernetes.Interface, ns string) {
	t.Helper()
	timeout := int64(2)
	w, err := client.CoreV1().ConfigMaps(ns).Watch(t.Context(), metav1.ListOptions{
		LabelSelector: "in=yes", AllowWatchBookmarks: true, TimeoutSeconds: &timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	bookmarks := 0
	for e := range w.ResultChan() {
		m, ok := e.Object.(*corev1.ConfigMap)
		if !ok || e.Type != watch.Bookmark || m.ResourceVersion == "" {
			t.Fatalf("event %s: %v, want a bookmark with a version", e.Type, e.Object)
		}
		bookmarks++
	}
	if bookmarks == 0 {
		t.Error("no bookmark before the end of the watch")
	}
}

// TestWatchList checks how current informers start: the list arrives as events, and a bookmark
// marks its end.
func TestWatchList(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	makeConfigMaps(t, client, ns, 2)
	yes := true
	w, err := client.CoreV1().ConfigMaps(ns).Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	added := 0
	for {
		e := receiveInTime(t, w.ResultChan())
		m := e.Object.(*corev1.ConfigMap)
		if e.Type == watch.Added {
			added++
		}
		if e.Type == watch.Bookmark && m.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			break
		}
	}
	if added != 2 {
		t.Errorf("%d objects before the bookmark, want 2", added)
	}
}

func TestDeprecatedWatchPaths(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	makeConfigMaps(t, client, ns, 2)
	base := "/api/v1/watch/namespaces/" + ns + "/configmaps"
	all, one := watchPath(t, client, base), watchPath(t, client, base+"/m-01")
	got := []string{next(t, all), next(t, all), next(t, one)}
	for _, name := range []string{"m-00", "m-01"} {
		if err := client.CoreV1().ConfigMaps(ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	got = append(got, next(t, all), next(t, all), next(t, one))
	want := []string{"ADDED m-00", "ADDED m-01", "ADDED m-01", "DELETED m-00", "DELETED m-01", "DELETED m-01"}
	if !slices.Equal(got, want) {
		t.Errorf("events are %q, want %q", got, want)
	}
}

func watchPath(t *testing.T, client *kubernetes.Clientset, path string) *json.Decoder {
	t.Helper()
	body, err := client.CoreV1().RESTClient().Get().AbsPath(path).SetHeader(
		"Accept",
		"application/json",
	).Stream(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	t.Cleanup(func() { body.Close() })
	return json.NewDecoder(bufio.NewReader(body))
}

// next returns the next event of a watch of ConfigMaps.
func next(t *testing.T, events *json.Decoder) string {
	t.Helper()
	var e struct {
		Type   string
		Object corev1.ConfigMap
	}
	if err := events.Decode(&e); err != nil {
		t.Fatal(err)
	}
	return e.Type + " " + e.Object.Name
}

func TestLoopbackServesInformers(t *testing.T) {
	ns, client := namespace(t), clientset(t, shared.Loopback())
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(ns))
	informer := factory.Core().V1().ConfigMaps().Informer()
	names := make(chan string, 10)
	_, err := informer.AddEventHandler(
		cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) { names <- obj.(*corev1.ConfigMap).Name }},
	)
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	makeConfigMaps(t, client, ns, 1)
	if got := receiveInTime(t, names); got != "m-00" {
		t.Errorf("informer saw %q", got)
	}
}

func TestLoopbackWatchEndsWithItsContext(t *testing.T) {
	ns, client := namespace(t), clientset(t, shared.Loopback())
	w, err := client.CoreV1().ConfigMaps(ns).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	select {
	case <-drained(w.ResultChan()):
	case <-time.After(time.Minute):
		t.Fatal("the watch goes on after Stop")
	}
}

func drained(c <-chan watch.Event) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range c {
		}
	}()
	return done
}

func TestLoopbackNeedsItsToken(t *testing.T) {
	cfg := rest.CopyConfig(shared.Loopback())
	cfg.BearerToken = ""
	resp, err := (&http.Client{Transport: cfg.Transport}).Get(cfg.Host + "/api/v1/pods")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("got %d, want 401", resp.StatusCode)
	}
}
