package validation_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/apiserver/registry"
)

var rewrite = flag.Bool("rewrite", false, "write the faults found into testdata")

// found is the prefix of lines with the expected errors of a case. A valid case has none.
const found = "#> "

// TestManifests runs the cases in testdata. A case is one manifest, which is created; or a manifest
// and a merge patch after "--- # update" or "--- # status", which is sent as the request.
func TestManifests(t *testing.T) {
	scheme := api.NewScheme()
	if err := registry.AddDefaults(scheme, time.Now); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("testdata/*/*.yaml")
	if len(files) < 250 {
		t.Fatalf("got %d cases, want at least 250", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			manifest, want := splitExpectation(string(content))
			got := report(t, run(t, scheme, manifest))
			if *rewrite && got != want {
				if err := os.WriteFile(file, []byte(manifest+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("faults (-want +got; -rewrite accepts them):\n%s", diff)
			}
		})
	}
}

// TestValidObjectsStayValid sends every valid new object again, unchanged, as an
// update of itself.
func TestValidObjectsStayValid(t *testing.T) {
	scheme := api.NewScheme()
	if err := registry.AddDefaults(scheme, time.Now); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("testdata/*/*.yaml")
	tried := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), found) || strings.Contains(string(content), "\n--- # ") {
			continue
		}
		tried++
		obj := versioned(t, decode(t, scheme, content))
		rules := rulesets()[obj.GetObjectKind().GroupVersionKind().Kind]
		for verb, rule := range map[string]func(now, old runtime.Object) field.ErrorList{"update": rules.update,
			"status": rules.status} {
			if rule == nil {
				continue
			}
			if errs := rule(obj.DeepCopyObject(), obj); len(errs) > 0 {
				t.Errorf("%s: %s with the same: %v", file, verb, errs.ToAggregate())
			}
		}
	}
	if tried < 25 {
		t.Errorf("got %d valid cases, want at least 25", tried)
	}
}

// TestEveryKindHasCases checks that each served kind has a valid case and one that is rejected.
func TestEveryKindHasCases(t *testing.T) {
	for resource, rules := range registry.RulesByResource(api.NewScheme()) {
		files, _ := filepath.Glob("testdata/" + strings.ToLower(rules.Kind.Kind) + "/*.yaml")
		valid, refused := false, false
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, faults := splitExpectation(string(content))
			valid, refused = valid || faults == "", refused || faults != ""
		}
		if !valid || !refused {
			t.Errorf("%s: testdata has a valid case: %t, one that is refused: %t", resource, valid, refused)
		}
	}
}

// TestEmptyObjectsAreRefused creates objects without any content.
func TestEmptyObjectsAreRefused(t *testing.T) {
	scheme := api.NewScheme()
	for _, kind := range registry.RulesByResource(scheme) {
		gvk := kind.Kind
		rules := rulesets()[gvk.Kind]
		obj, err := scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		if errs := rules.create(obj); len(errs) == 0 {
			t.Errorf("an empty %s was accepted", gvk.Kind)
		}
		for _, rule := range []func(now, old runtime.Object) field.ErrorList{rules.update, rules.status} {
			if rule != nil && len(rule(obj.DeepCopyObject(), obj)) == 0 {
				t.Errorf("an update of an empty %s was accepted without a resource version", gvk.Kind)
			}
		}
	}
}

func splitExpectation(content string) (manifest, want string) {
	if i := strings.Index(content, found); i >= 0 {
		return content[:i], content[i:]
	}
	return content, ""
}

func report(t *testing.T, errs field.ErrorList) string {
	t.Helper()
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = found + strings.ReplaceAll(err.Error(), "\n", "\\n") + "\n"
	}
	// Errors about labels are in random order, because labels are a map.
	slices.Sort(lines)
	for i := 1; i < len(lines); i++ {
		if lines[i] == lines[i-1] {
			t.Errorf("reported twice: %s", lines[i])
		}
	}
	return strings.Join(lines, "")
}

func run(t *testing.T, scheme *runtime.Scheme, manifest string) field.ErrorList {
	t.Helper()
	base, patch, isPatched := strings.Cut(manifest, "\n--- # ")
	obj := decode(t, scheme, []byte(base))
	gvk := obj.GetObjectKind().GroupVersionKind()
	rules, ok := rulesets()[gvk.Kind]
	if !ok {
		t.Fatalf("kind %s has no rules", gvk.Kind)
	}
	if !isPatched {
		return rules.create(obj)
	}
	verb, patch, _ := strings.Cut(patch, "\n")
	update := map[string]func(now, old runtime.Object) field.ErrorList{"update": rules.update,
		"status": rules.status}[verb]
	if update == nil {
		t.Fatalf("kind %s has no %q", gvk.Kind, verb)
	}
	return update(versioned(t, decode(t, scheme, merge(t, base, patch))), versioned(t, obj))
}

// versioned sets the metadata that a stored object has.
func versioned(t *testing.T, obj runtime.Object) runtime.Object {
	t.Helper()
	accessor, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	accessor.SetResourceVersion("7")
	return obj
}

func merge(t *testing.T, base, patch string) []byte {
	t.Helper()
	original, err := yaml.YAMLToJSON([]byte(base))
	if err != nil {
		t.Fatal(err)
	}
	change, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := applyMergePatch(original, change)
	if err != nil {
		t.Fatal(err)
	}
	return merged
}

// applyMergePatch implements RFC 7396.
func applyMergePatch(original, patch []byte) ([]byte, error) {
	var o, p any
	if err := json.Unmarshal(original, &o); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &p); err != nil {
		return nil, err
	}
	return json.Marshal(mergeValue(o, p))
}

func mergeValue(o, p any) any {
	change, ok := p.(map[string]any)
	if !ok {
		return p
	}
	out, _ := o.(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range change {
		if value == nil {
			delete(out, key)
		} else {
			out[key] = mergeValue(out[key], value)
		}
	}
	return out
}

func decode(t *testing.T, scheme *runtime.Scheme, content []byte) runtime.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	obj, gvk, err := decoder.Decode(bytes.TrimSpace(content), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	scheme.Default(obj)
	stored, err := scheme.ConvertToVersion(obj, schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		t.Fatal(err)
	}
	stored.GetObjectKind().SetGroupVersionKind(*gvk)
	return stored
}
