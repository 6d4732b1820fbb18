package validation_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/apiserver/registry"
)

const resourceGroup = "resource.k8s.io"

// resourceManifests returns the cases of the resource kinds, from which fuzzing starts.
func resourceManifests(f *testing.F) []string {
	f.Helper()
	var all []string
	for _, kind := range []string{"clusterresourceclaimtemplate", "deviceclass", "devicetaintrule", "resourceclaim",
		"resourceclaimtemplate", "resourceslice"} {
		files, _ := filepath.Glob("testdata/" + kind + "/*.yaml")
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			manifest, _ := splitExpectation(string(content))
			all = append(all, manifest)
		}
	}
	if len(all) < 200 {
		f.Fatalf("got %d manifests, want at least 200", len(all))
	}
	return all
}

// server decodes, defaults, converts and encodes as the API server does.
type server struct {
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
}

func newServer(f *testing.F) server {
	f.Helper()
	scheme := api.NewScheme()
	if err := registry.AddDefaults(scheme, time.Now); err != nil {
		f.Fatal(err)
	}
	return server{scheme, serializer.NewCodecFactory(scheme)}
}

// receive returns the hub form of an object that a client sent, and false if it is not of a
// resource kind.
func (s server) receive(data []byte) (runtime.Object, bool) {
	obj, gvk, err := s.codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil || gvk.Group != resourceGroup || strings.HasSuffix(gvk.Kind, "List") {
		return nil, false
	}
	s.scheme.Default(obj)
	hub, err := s.scheme.ConvertToVersion(obj,
		schema.GroupVersion{Group: resourceGroup, Version: runtime.APIVersionInternal})
	if err != nil {
		return nil, false
	}
	_, known := rulesets()[s.kindOf(hub)]
	return hub, known
}

func (s server) kindOf(obj runtime.Object) string {
	gvks, _, err := s.scheme.ObjectKinds(obj)
	if err != nil {
		return ""
	}
	return gvks[0].Kind
}

// checkRequest creates an object, or updates it if there is a patch. Neither may panic, errors name
// a field and are deterministic, and an accepted object is accepted again as it is stored.
func (s server) checkRequest(t *testing.T, manifest, patch []byte) {
	obj, ok := s.receive(manifest)
	if !ok {
		return
	}
	rules := rulesets()[s.kindOf(obj)]
	errs := rules.create(obj)
	for _, err := range errs {
		if err.Field == "" || err.Error() == "" {
			t.Errorf("a fault without a field: %v", err)
		}
	}
	if again := rules.create(obj); len(again) != len(errs) {
		t.Errorf("%d faults, then %d", len(errs), len(again))
	}
	if len(errs) == 0 {
		s.checkAccepted(t, obj, rules)
	}
	if len(patch) == 0 {
		return
	}
	changed, err := applyMergePatch(manifest, patch)
	if err != nil {
		return
	}
	now, ok := s.receive(changed)
	if !ok || s.kindOf(now) != s.kindOf(obj) {
		return
	}
	stored(obj)
	stored(now)
	rules.update(now, obj)
	if rules.status != nil {
		rules.status(now, obj)
	}
}

func stored(obj runtime.Object) {
	if accessor, err := meta.Accessor(obj); err == nil {
		accessor.SetResourceVersion("7")
	}
}

// checkAccepted converts an accepted object to every version, and sends it as an update of itself.
func (s server) checkAccepted(t *testing.T, obj runtime.Object, rules ruleset) {
	for _, version := range []string{"v1", "v1beta2", "v1beta1", "v1alpha3"} {
		gv := schema.GroupVersion{Group: resourceGroup, Version: version}
		if !s.scheme.Recognizes(gv.WithKind(s.kindOf(obj))) {
			continue
		}
		for _, info := range s.codecs.SupportedMediaTypes() {
			if info.MediaType != runtime.ContentTypeProtobuf && info.MediaType != runtime.ContentTypeJSON {
				continue
			}
			data, err := runtime.Encode(s.codecs.EncoderForVersion(info.Serializer, gv), obj.DeepCopyObject())
			if err != nil {
				t.Fatalf("%s as %s: %v", version, info.MediaType, err)
			}
			back, ok := s.receive(data)
			if !ok {
				t.Fatalf("%s as %s does not come back", version, info.MediaType)
			}
			back.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
			if !equality.Semantic.DeepEqual(obj, back) {
				t.Errorf("%s as %s (-sent +read):\n%s", version, info.MediaType, cmp.Diff(obj, back))
			}
		}
	}
	stored(obj)
	if errs := rules.update(obj.DeepCopyObject(), obj); len(errs) > 0 {
		t.Errorf("refused when sent again: %v", errs.ToAggregate())
	}
}

// FuzzManifest uses arbitrary bytes as a manifest and a patch of it.
func FuzzManifest(f *testing.F) {
	s := newServer(f)
	for _, m := range resourceManifests(f) {
		base, patch, _ := strings.Cut(m, "\n--- # ")
		_, patch, _ = strings.Cut(patch, "\n")
		b, err := yaml.YAMLToJSON([]byte(base))
		if err != nil {
			f.Fatal(err)
		}
		p, err := yaml.YAMLToJSON([]byte(patch))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, p)
	}
	f.Fuzz(s.checkRequest)
}

// FuzzMutations changes the manifests as the bytes determine, three for each change: the place, the
// operation and the value. It reaches more code than arbitrary bytes, which must be JSON first.
func FuzzMutations(f *testing.F) {
	s, manifests := newServer(f), resourceManifests(f)
	values := map[string][]any{}
	objects := make([]any, len(manifests))
	for i, m := range manifests {
		base, _, _ := strings.Cut(m, "\n--- # ")
		if err := yaml.Unmarshal([]byte(base), &objects[i]); err != nil {
			f.Fatal(err)
		}
		collect(objects[i], values)
		f.Add(uint16(i), []byte{0, 1, 2})
		f.Add(uint16(i), []byte{5, 3, 1, 9, 0, 0, 12, 2, 7})
	}
	f.Fuzz(func(t *testing.T, index uint16, changes []byte) {
		base := objects[int(index)%len(objects)]
		changed := clone(base)
		for ; len(changes) >= 3; changes = changes[3:] {
			mutate(changed, changes[:3], values)
		}
		manifest, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		s.checkRequest(t, manifest, nil)
		before, err := json.Marshal(base)
		if err != nil {
			t.Fatal(err)
		}
		s.checkRequest(t, before, manifest)
	})
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = clone(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	}
	return v
}

// collect adds the values of each key, at any depth.
func collect(v any, into map[string][]any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			into[key] = append(into[key], v[key])
			collect(v[key], into)
		}
	case []any:
		for i := range v {
			collect(v[i], into)
		}
	}
}

// place is a value in a manifest.
type place struct {
	key   string
	value any
	set   func(any)
	unset func()
}

func places(v any, out *[]place) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			*out = append(*out, place{key, v[key], func(x any) { v[key] = x }, func() { delete(v, key) }})
			places(v[key], out)
		}
	case []any:
		for i := range v {
			*out = append(*out, place{"", v[i], func(x any) { v[i] = x }, func() { v[i] = nil }})
			places(v[i], out)
		}
	}
}

func mutate(root any, by []byte, values map[string][]any) {
	odd := []any{
		"", "a", "A_b", "a.b", "a/b", "a.b/c", strings.Repeat("a", 64), strings.Repeat("a.", 127), nil, true, false, 0, 1, -1,
		33, int64(1) << 62, 0.5,
		"1Gi", "-1", "1e400", "0.0000000001", map[string]any{}, []any{}, []any{""}, []any{nil}, map[string]any{"": nil},
		"1.2.3", "True", "device", "2026-01-02T11:00:00Z",
	}
	var all []place
	places(root, &all)
	if len(all) == 0 {
		return
	}
	p := all[int(by[0])%len(all)]
	switch same := values[p.key]; by[1] % 4 {
	case 0:
		p.set(clone(odd[int(by[2])%len(odd)]))
	case 1:
		p.unset()
	case 2:
		if len(same) > 0 {
			p.set(clone(same[int(by[2])%len(same)]))
		}
	case 3:
		if list, ok := p.value.([]any); ok && len(list) > 0 {
			for range int(by[2]) % 40 {
				list = append(list, clone(list[0]))
			}
			p.set(list)
		}
	}
}
