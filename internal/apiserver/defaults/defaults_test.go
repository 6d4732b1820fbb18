package defaults_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/apiserver/registry"
)

var rewrite = flag.Bool("rewrite", false, "write the results into testdata")

// TestGolden decodes testdata/*.yaml as a client's request, and compares the object with
// testdata/*.golden.
func TestGolden(t *testing.T) {
	scheme := api.NewScheme()
	noon := func() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }
	if err := registry.AddDefaults(scheme, noon); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	shown := map[schema.GroupVersionKind]bool{}
	files, _ := filepath.Glob("testdata/*.yaml")
	if len(files) == 0 {
		t.Fatal("no manifests in testdata")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			obj, gvk, err := decoder.Decode(in, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			shown[*gvk] = true
			scheme.Default(obj)
			once := obj.DeepCopyObject()
			scheme.Default(obj)
			if diff := cmp.Diff(once, obj); diff != "" {
				t.Errorf("the second run changed the object (-first +second):\n%s", diff)
			}
			compare(t, strings.TrimSuffix(file, ".yaml")+".golden", obj)
		})
	}
	for resource, rules := range registry.RulesByResource(scheme) {
		if hasDefaults(t, scheme, rules.Kind) && !shown[rules.Kind] {
			t.Errorf("testdata does not show the defaults of %s", resource)
		}
	}
}

// hasDefaults reports whether the defaults change an object without any fields.
func hasDefaults(t *testing.T, scheme *runtime.Scheme, kind schema.GroupVersionKind) bool {
	t.Helper()
	empty, err := scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	defaulted := empty.DeepCopyObject()
	scheme.Default(defaulted)
	return !equality.Semantic.DeepEqual(empty, defaulted)
}

func compare(t *testing.T, file string, obj any) {
	t.Helper()
	got, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -rewrite accepts it):\n%s", file, diff)
	}
}

// TestDefaultsNeedTheKinds checks that a scheme has the type of each function, because others would
// never be called.
func TestDefaultsNeedTheKinds(t *testing.T) {
	err := registry.AddDefaults(runtime.NewScheme(), time.Now)
	if !runtime.IsNotRegisteredError(errors.Unwrap(err)) {
		t.Errorf("got %v, want a not-registered error", err)
	}
}
