package gates

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/features"
)

// TestScenarios takes objects through the rules. Its one verb is
//
//	write off=(GATE,GATE…)
//
// with a manifest, and behind "--- # stored" the object that it replaces. It answers with "-" what was dropped, and with
// "!" what was refused.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var on features.Set
			for _, arg := range d.CmdArgs {
				for _, name := range arg.Vals {
					if err := on.Set(name + "=false"); err != nil {
						t.Fatalf("%s: %v", d.Pos, err)
					}
				}
			}
			now, stored, has := strings.Cut(d.Input, "--- # stored\n")
			obj := decode(t, d, now)
			var old runtime.Object
			if has {
				old = decode(t, d, stored)
			}
			return write(t, on, obj, old)
		})
	})
}

func decode(t *testing.T, d *datadriven.TestData, text string) runtime.Object {
	t.Helper()
	obj, _, err := api.Codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return obj
}

func write(t *testing.T, on features.Set, obj, old runtime.Object) string {
	t.Helper()
	before, untouched := flat(t, obj), flat(t, old)
	Drop(on, obj, old)
	after := flat(t, obj)
	var out []string
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if !after[path] {
			out = append(out, "- "+path)
		}
	}
	for path := range after {
		if !before[path] {
			t.Errorf("%s came from nowhere", path)
		}
	}
	if len(untouched) != len(flat(t, old)) {
		t.Error("the stored object was changed")
	}
	for _, e := range Refuse(on, obj, old) {
		out = append(out, "! "+e.Error())
	}
	if len(out) == 0 {
		return "as it is\n"
	}
	return strings.Join(out, "\n") + "\n"
}

// flat are the paths of all values of an object.
func flat(t *testing.T, obj runtime.Object) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	if obj == nil {
		return out
	}
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				walk(path+"."+key, value)
			}
		case []any:
			for i, value := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), value)
			}
		default:
			out[strings.TrimPrefix(path, ".")+": "+fmt.Sprint(v)] = true
		}
	}
	walk("", tree)
	return out
}
