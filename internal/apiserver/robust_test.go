package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/internal/apiserver"
)

var (
	robustRequests = flag.Int("robust-requests", 40, "requests for each resource in TestNoRequestIsAServerFault")
	robustSeed     = flag.Uint64("robust-seed", 1, "seed of TestNoRequestIsAServerFault")
)

const (
	robustNamespace = "robust"
	robustPatience  = 30 * time.Second
)

// ofLibrary are responses of k8s.io/apiserver itself to requests that it cannot read, with 500 or
// 504, as in Kubernetes. Its handlers respond before any code of this module is called.
var ofLibrary = []string{
	"apiextensions.k8s.io/v1, Kind=CustomResourceDefinition", // of patches that cannot be applied
	"Timeout: Too large resource version",
}

// isOfLibrary reports whether a response is one of these.
func isOfLibrary(answer []byte) bool {
	var status metav1.Status
	return json.Unmarshal(answer, &status) == nil &&
		slices.ContainsFunc(ofLibrary, func(text string) bool { return strings.Contains(status.Message, text) })
}

// TestNoRequestCausesServerError sends invalid requests for every served resource and subresource, and
// checks that no response is a 5xx, except for those of the library and 501 for a subresource that
// does not exist here, and that none takes long. The resources are those of discovery, and the
// objects those of the validation's manifests.
func TestNoRequestCausesServerError(t *testing.T) {
	s := startServer(t, apiserver.Config{DataDir: t.TempDir(), UnsafeNoFsync: true})
	r := newRobust(t, s.Loopback())
	r.send("POST", "/api/v1/namespaces", nil, "application/json", []byte(`{"metadata":{"name":"`+robustNamespace+`"}}`))
	_, lists, err := discovery.NewDiscoveryClientForConfigOrDie(s.Loopback()).ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	resources := 0
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			resources++
			for range *robustRequests {
				r.sendRandomRequest(gv, resource)
			}
		}
	}
	if resources < 60 {
		t.Errorf("got %d resources, want at least 60", resources)
	}
	t.Logf("%d requests for %d resources: %v", r.sent, resources, r.codes)
	if r.codes[http.StatusCreated] == 0 || r.codes[http.StatusOK] == 0 || r.codes[http.StatusUnprocessableEntity] == 0 {
		t.Error("the requests are too odd to show anything")
	}
}

// robustnessTest sends requests and checks the responses.
type robustnessTest struct {
	t      *testing.T
	client *http.Client
	host   string
	rand   *rand.Rand
	// objects are valid and invalid objects by kind; values are the values of each key.
	objects map[string][]map[string]any
	values  map[string][]any
	sent    int
	codes   map[int]int
}

func newRobust(t *testing.T, cfg *rest.Config) *robustnessTest {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &robustnessTest{
		t: t, client: client, host: cfg.Host, rand: rand.New(rand.NewPCG(*robustSeed, 7)),
		objects: map[string][]map[string]any{}, values: map[string][]any{}, codes: map[int]int{},
	}
	files, _ := filepath.Glob("validation/testdata/*/*.yaml")
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		manifest, _, _ := strings.Cut(string(content), "#> ")
		manifest, _, _ = strings.Cut(manifest, "\n--- # ")
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(manifest), &obj); err != nil {
			t.Fatal(err)
		}
		kind, _ := obj["kind"].(string)
		r.objects[kind] = append(r.objects[kind], obj)
		r.collect(obj)
	}
	if len(r.objects) < 25 {
		t.Fatalf("got manifests of %d kinds, want at least 25", len(r.objects))
	}
	return r
}

func (r *robustnessTest) collect(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			r.values[key] = append(r.values[key], v[key])
			r.collect(v[key])
		}
	case []any:
		for i := range v {
			r.collect(v[i])
		}
	}
}

// sendRandomRequest sends one request with a random verb.
func (r *robustnessTest) sendRandomRequest(gv schema.GroupVersion, resource metav1.APIResource) {
	plural, sub, _ := strings.Cut(resource.Name, "/")
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	if resource.Namespaced {
		path += "/namespaces/" + robustNamespace
	}
	collection := path + "/" + plural
	obj := r.object(gv, resource)
	name := r.name(obj)
	one := collection + "/" + url.PathEscape(name)
	if sub != "" {
		one += "/" + sub
	}
	body := r.encode(obj)
	switch r.rand.IntN(8) {
	case 0, 1:
		if sub == "" {
			r.send("POST", collection, r.query(), "application/json", body)
		} else {
			r.send("POST", one, r.query(), "application/json", body)
		}
	case 2:
		r.send("PUT", one, r.query(), "application/json", body)
	case 3:
		r.send("PATCH", one, r.query(),
			r.pick([]string{"application/merge-patch+json", "application/strategic-merge-patch+json"}), body)
	case 4:
		q := r.query()
		q.Set("fieldManager", "robust")
		r.send("PATCH", one, q, "application/apply-patch+yaml", body)
	case 5:
		r.send("PATCH", one, r.query(), "application/json-patch+json", r.jsonPatch())
	case 6:
		if sub == "" {
			r.send("GET", collection, r.query(), "", nil)
		} else {
			r.send("GET", one, r.query(), "", nil)
		}
	case 7:
		q := r.query()
		options := r.encode(
			map[string]any{
				"kind":               "DeleteOptions",
				"apiVersion":         "v1",
				"gracePeriodSeconds": r.value(),
				"propagationPolicy":  r.value(),
				"dryRun":             r.value(),
			},
		)
		if sub != "" || r.rand.IntN(2) == 0 {
			r.send("DELETE", one, q, "application/json", options)
			return
		}
		if !resource.Namespaced { // the server's own objects must remain
			q.Set("labelSelector", "robust=yes")
		}
		r.send("DELETE", collection, q, "application/json", options)
	}
}

// object returns an object of the resource's kind, changed in up to three places.
func (r *robustnessTest) object(gv schema.GroupVersion, resource metav1.APIResource) map[string]any {
	obj := map[string]any{
		"metadata": map[string]any{"name": "x"},
		"spec":     map[string]any{"a": "b"},
		"target":   map[string]any{"name": "n"},
	}
	if all := r.objects[resource.Kind]; len(all) > 0 {
		obj = r.copied(all[r.rand.IntN(len(all))])
	}
	for range r.rand.IntN(4) {
		r.mutate(obj)
	}
	if resource.Group != "" || resource.Version != "" { // a subresource of another group, such as Scale
		gv = schema.GroupVersion{Group: resource.Group, Version: resource.Version}
	}
	obj["apiVersion"], obj["kind"] = gv.String(), resource.Kind
	if m, ok := obj["metadata"].(map[string]any); ok && resource.Namespaced {
		m["namespace"] = robustNamespace
	}
	return obj
}

func (r *robustnessTest) copied(obj map[string]any) map[string]any {
	var out map[string]any
	if err := json.Unmarshal(r.encode(obj), &out); err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *robustnessTest) encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		r.t.Fatal(err)
	}
	return data
}

func (r *robustnessTest) name(obj map[string]any) string {
	if m, ok := obj["metadata"].(map[string]any); ok {
		if name, ok := m["name"].(string); ok && name != "" && name != "." && name != ".." {
			return name
		}
	}
	return r.pick([]string{"x", "a%2Fb", "..%2f", strings.Repeat("a", 300), "A B"})
}

// mutate changes a random place of an object.
func (r *robustnessTest) mutate(obj any) {
	type place struct {
		key   string
		set   func(any)
		unset func()
	}
	var all []place
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				all = append(all, place{key, func(x any) { v[key] = x }, func() { delete(v, key) }})
				walk(v[key])
			}
		case []any:
			for i := range v {
				all = append(all, place{"", func(x any) { v[i] = x }, func() { v[i] = nil }})
				walk(v[i])
			}
		}
	}
	walk(obj)
	if len(all) == 0 {
		return
	}
	p := all[r.rand.IntN(len(all))]
	switch same := r.values[p.key]; r.rand.IntN(3) {
	case 0:
		p.set(r.value())
	case 1:
		p.unset()
	case 2:
		if len(same) > 0 {
			p.set(same[r.rand.IntN(len(same))])
		}
	}
}

// value returns a random JSON value.
func (r *robustnessTest) value() any {
	return []any{
		"", "a", "A_b", "a/b", "..", ".", "a%b", "\x00", "é", strings.Repeat("a.", 127), nil, true, 0, 1, -1, 33,
		int64(1) << 62, 0.5, 1e300,
		"1Gi", "-1", "1e400", "1e30", map[string]any{}, []any{}, []any{nil}, []any{map[string]any{}}, map[string]any{"": nil},
		"All", "2026-01-02T11:00:00Z",
	}[r.rand.IntN(30)]
}

func (r *robustnessTest) pick(list []string) string { return list[r.rand.IntN(len(list))] }

func (r *robustnessTest) jsonPatch() []byte {
	var ops []any
	for range 1 + r.rand.IntN(3) {
		ops = append(ops, map[string]any{
			"op": r.pick([]string{"add", "remove", "replace", "move", "copy", "test", "odd"}),
			"path": r.pick(
				[]string{
					"/spec",
					"/metadata/labels/a",
					"/status/conditions/-",
					"/spec/x/0",
					"",
					"/",
					"spec",
					"/metadata/name",
					"/kind",
				},
			),
			"from":  r.pick([]string{"/spec", "/metadata", "", "/nowhere"}),
			"value": r.value(),
		})
	}
	return r.encode(ops)
}

// query returns random options, most of them invalid.
func (r *robustnessTest) query() url.Values {
	q := url.Values{}
	for _, o := range []struct {
		key    string
		values []string
	}{
		{"labelSelector", []string{"a=b", "a in (b", "!", "a notin ()", "=", strings.Repeat("a", 400), "\x00"}},
		{"fieldSelector", []string{"metadata.name=x", "spec.nodeName=", "nowhere=1", "a", "metadata.name!=x,spec.nodeName!=y",
			"="}},
		{"limit", []string{"1", "-1", "x", "99999999999999999999"}},
		{"continue", []string{"x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vLi4ifQ"}},
		{"resourceVersion", []string{"0", "1", "x", "-1", "99999999999"}},
		{"resourceVersionMatch", []string{"Exact", "NotOlderThan", "x"}},
		{"timeoutSeconds", []string{"1", "-1", "x"}},
		{"dryRun", []string{"All", "x"}},
		{"fieldManager", []string{"m", strings.Repeat("m", 300), "\x07"}},
		{"fieldValidation", []string{"Strict", "Warn", "Ignore", "x"}},
		{"force", []string{"true", "x"}},
		{"gracePeriodSeconds", []string{"0", "-1", "x"}},
		{"propagationPolicy", []string{"Orphan", "Foreground", "x"}},
		{"pretty", []string{"1"}},
	} {
		if r.rand.IntN(12) == 0 {
			q.Set(o.key, r.pick(o.values))
		}
	}
	return q
}

// send sends a request, and fails the test if the response is one that no client should get.
func (r *robustnessTest) send(method, path string, query url.Values, contentType string, body []byte) {
	r.t.Helper()
	r.sent++
	ctx, cancel := context.WithTimeout(r.t.Context(), robustPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, r.host+path, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.URL.RawQuery = query.Encode()
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	text := fmt.Sprintf("%s %s %s\n%s", method, request.URL.RequestURI(), contentType, body)
	response, err := r.client.Do(request)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			r.t.Errorf("no answer within %s: %s", robustPatience, text)
			return
		}
		r.t.Errorf("%v: %s", err, text)
		return
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Errorf("%v: %s", err, text)
	}
	r.codes[response.StatusCode]++
	if response.StatusCode >= 500 && response.StatusCode != http.StatusNotImplemented && !isOfLibrary(answer) {
		r.t.Errorf("%d: %s\n%s", response.StatusCode, answer, text)
	}
}
