package gates

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/features"
)

// TestScenarios takes objects through the rules. Its verbs are
//
//	write off=(GATE,GATE…)
//	transitions off=(GATE,GATE…)
//	absent [on=(GATE)]
//
// with a manifest, and behind "--- # stored" the object that it replaces, or one that differs in
// the features' fields only: see transitions. They answer with "-" what was dropped, and with "!"
// what was refused.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var on features.Set
			for _, arg := range d.CmdArgs {
				for _, name := range arg.Vals {
					if err := on.Set(name + "=" + strconv.FormatBool(arg.Key == "on")); err != nil {
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
			switch d.Cmd {
			case "transitions":
				return transitions(t, on, obj, old)
			case "absent":
				return difference(t, obj, old, func(obj, old runtime.Object) { DropAbsent(on, obj, old) })
			}
			return write(t, on, obj, old)
		})
	})
}

// transitions switches a feature off, on and off again beneath three objects: one from before, one
// from meanwhile, and one without its fields. They are written with them, as in with, or without.
// Whoever has the fields keeps them, and nobody else gets them while they are off: what is taken
// from those is the same each time, and the answer.
func transitions(t *testing.T, off features.Set, with, without runtime.Object) string {
	t.Helper()
	on := features.All()
	taken := write(t, off, with.DeepCopyObject(), nil)
	stored := map[string]runtime.Object{}
	for i, step := range []struct {
		gates features.Set
		name  string
		obj   runtime.Object
		kept  bool
	}{
		{on, "before", with, true},
		{off, "before", with, true},
		{off, "meanwhile", with, false},
		{off, "without", without, true},
		{off, "without", with, false},
		{off, "before", without, true},
		{off, "before", with, false}, // with removes the fields
		{on, "before", with, true},
		{on, "meanwhile", with, true},
		{off, "meanwhile", with, true},
	} {
		want := "as it is\n"
		if !step.kept {
			want = taken
		}
		obj := step.obj.DeepCopyObject()
		if got := write(t, step.gates, obj, stored[step.name]); got != want {
			t.Errorf("step %d, %s: got %s, want %s", i, step.name, got, want)
		}
		if step.kept || !strings.Contains(taken, "! ") {
			stored[step.name] = obj
		}
	}
	return taken
}

// TestEveryGateIsSwitched checks that each gate has a file of transitions, unless it is about kinds
// or permissions only, or switches nothing.
func TestEveryGateIsSwitched(t *testing.T) {
	elsewhere := []string{
		"AllAlpha", "AllBeta",
		"DRADeviceTaintRules", "DRAResourcePoolStatus", // apiserver/testdata/features/workloads
		"DRAResourceClaimGranularStatusAuthorization", // apiserver/testdata/features/granularstatus
	}
	for _, line := range features.Known() {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "=")
		if _, err := os.Stat("testdata/transitions/" + name); err != nil && !slices.Contains(elsewhere, name) &&
			!strings.Contains(rest, "locked") && !strings.Contains(rest, "no effect") {
			t.Error(err)
		}
	}
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
	text := difference(t, obj, old, func(obj, old runtime.Object) {
		Drop(on, obj, old)
		DropAbsent(on, obj, old)
	})
	var out []string
	for _, e := range Refuse(on, obj, old) {
		out = append(out, "! "+e.Error())
	}
	if len(out) == 0 {
		return text
	}
	return strings.TrimPrefix(text, unchanged) + strings.Join(out, "\n") + "\n"
}

// unchanged is the output if nothing is dropped.
const unchanged = "as it is\n"

// difference returns what drop removes from an object.
func difference(t *testing.T, obj, old runtime.Object, drop func(obj, old runtime.Object)) string {
	t.Helper()
	before, untouched := valuePaths(t, obj), valuePaths(t, old)
	drop(obj, old)
	after := valuePaths(t, obj)
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
	if len(untouched) != len(valuePaths(t, old)) {
		t.Error("the stored object was changed")
	}
	if len(out) == 0 {
		return unchanged
	}
	return strings.Join(out, "\n") + "\n"
}

// valuePaths returns the paths of all values of an object.
func valuePaths(t *testing.T, obj runtime.Object) map[string]bool {
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
