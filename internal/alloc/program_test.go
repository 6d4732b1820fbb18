package alloc

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/model"
)

// The fields that a selector reads are derived from its text. When in doubt, all fields count as
// read.
func TestReadSetFromExpression(t *testing.T) {
	tests := []struct{ expression, reads string }{
		{`device.driver == "d"`, ""},
		{`device.allowMultipleAllocations`, ""},
		{`device.attributes["d"].x == 1 && device.attributes["e"]["y"] == "z"`, "d/x e/y"},
		{`"x" in device.attributes["d"]`, "d/x"},
		{`has(device.attributes["d"].x)`, "d/x"},
		{`device.capacity["d"].memory.isGreaterThan(quantity("1Gi"))`, "capacity d/memory"},
		{`["a", "b"].exists(v, v == device.attributes["d"].x)`, "d/x"},
		{`device.attributes["d"].list.exists(v, v == "a")`, "d/list"},
		{`1 in device.attributes["d"].list`, "d/list"},
		{`device.attributes[device.driver].x == 1`, "all"},
		{`"d" in device.attributes`, "all"},
		{`cel.bind(own, device.attributes["d"], own.x == 1 && own.y == 2)`, "all"},
		{`device.attributes["d"].exists(id, id.startsWith("x"))`, "all"},
		{`[device].exists(device, device.attributes["d"].x == 1)`, "all"},
		{`device.driver == "d" && dyn(device) != null`, "all"},
	}
	for _, test := range tests {
		p := newMatcher().program(test.expression)
		if p.compiled.Error != nil {
			t.Errorf("%s: %s", test.expression, p.compiled.Error)
		} else if got := p.reads.text(); got != test.reads {
			t.Errorf("%s reads %q, want %q", test.expression, got, test.reads)
		}
	}
}

func (r *readSet) text() string {
	if r.all {
		return "all"
	}
	text := ""
	add := func(prefix string, fields []field) {
		for _, f := range fields {
			if text != "" {
				text += " "
			}
			text += prefix + string(f.qualified[0])
		}
	}
	add("", r.attributes)
	add("capacity ", r.capacity)
	return text
}

// A cached result is the same as the result of a fresh evaluation.
func TestCachedSelectorResultsAreRight(t *testing.T) {
	expressions := []string{
		`device.driver == "d"`, `device.allowMultipleAllocations`, `device.attributes["d"].x == 1`,
		`device.attributes["d"].x == "1"`,
		`"x" in device.attributes["d"]`, `has(device.attributes["e"].x)`, `device.attributes["e"].x.exists(v, v == 1)`,
		`1 in device.attributes["d"].x`, `device.capacity["d"].x.isGreaterThan(quantity("1"))`,
		`device.attributes["d"].exists(id, id == "x")`,
		`cel.bind(own, device.attributes["d"], own.x == own.y)`, `device.attributes["d"].x == device.attributes["d"].y`,
		`device.attributes["d"].x.isGreaterThan(semver("1.0.0"))`, `size(device.capacity["d"]) == 1`,
		`"1" + device.driver == device.attributes["e"].x`,
	}
	m := newMatcher()
	worlds := 0
	rapid.Check(t, func(t *rapid.T) {
		if worlds++; worlds > 5000 {
			return // more worlds add no coverage
		}
		pool := &model.Pool{
			ID: model.PoolID{Driver: rapid.SampledFrom([]string{"d", "e", "dtrue"}).Draw(t, "driver"), Pool: "p"},
		}
		for range rapid.IntRange(1, 4).Draw(t, "devices") {
			pool.Devices = append(pool.Devices, drawDevice(t))
		}
		for _, expression := range expressions {
			p := m.program(expression)
			for i := range pool.Devices {
				got, err := m.matches(p, pool, i)
				request, _, wantErr := p.compiled.DeviceMatches(context.Background(), celDevice(pool, i))
				if got != request || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("%s: %v %v, want %v %v: %s", expression, got, err, request, wantErr, cmp.Diff(nil, pool.Devices[i]))
				}
			}
		}
	})
}

// Selections are evaluated correctly after the cache was dropped, including those of existing
// Problems.
func TestSelectionCacheIsLimited(t *testing.T) {
	state := model.NewState()
	state.Nodes.Put(&model.Node{Name: "n"})
	slice := &model.Slice{
		Name:       "s",
		Pool:       model.PoolID{Driver: "d", Pool: "p"},
		PoolSlices: 1,
		Usage:      model.Usage{Scope: model.Scope{Node: "n"}},
	}
	slice.Devices = []model.Device{{Name: "a", Usage: &slice.Usage}, {Name: "b", Usage: &slice.Usage}}
	state.Devices.PutSlice(slice)
	node, _ := state.Nodes.Get("n")
	view := &state.Devices.Pools(node)[0]
	m, class := newMatcher(), &model.Class{Name: "class", Selectors: []string{`device.driver == "d"`}}
	first := m.selection(class, &model.Alternative{})
	for i := range 2*maxSelections + 10 {
		request, of := 0, "e"
		if i%2 == 0 {
			request, of = 2, "d"
		}
		expression := fmt.Sprintf(`device.driver == %q || device.driver == "%d"`, of, i)
		selection := m.selection(class, &model.Alternative{Selectors: []string{expression}})
		if got := m.matchSelection(m.pool(view), selection).free.Len(); got != request {
			t.Fatalf("%s: %d devices, want %d", expression, got, request)
		}
		if got := m.matchSelection(m.pool(view), first).free.Len(); got != 2 {
			t.Fatalf("after %d others: %d devices, want 2", i, got)
		}
	}
	if len(m.selections) > maxSelections || len(m.pools) != 1 || len(m.pools[0].selections) > maxSelections {
		t.Errorf("%d selections are remembered, %d of the pool", len(m.selections), len(m.pools[0].selections))
	}
}

func drawDevice(t *rapid.T) model.Device {
	one, text, version, yes := int64(1), "1", "1.0.1", true
	values := []resourcev1.DeviceAttribute{
		{
			IntValue: &one,
		}, {StringValue: &text}, {VersionValue: &version}, {BoolValue: &yes}, {IntValues: []int64{1, 2}},
		{StringValues: []string{"1", "2"}},
	}
	d := model.Device{Usage: &model.Usage{AllowMultipleAllocations: rapid.Bool().Draw(t, "shared")}}
	d.Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
	d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}
	// A device does not publish one attribute under both of its names.
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]resourcev1.QualifiedName{"x", "y", "other/x",
		"other/y"}), rapid.ID).Draw(t, "names") {
		if rapid.Bool().Draw(t, "capacity") {
			d.Capacity[name] = resourcev1.DeviceCapacity{
				Value: resource.MustParse(rapid.SampledFrom([]string{"1", "2"}).Draw(t, "amount")),
			}
		} else {
			d.Attributes[name] = rapid.SampledFrom(values).Draw(t, "value")
		}
	}
	for _, name := range []resourcev1.QualifiedName{"d/x", "e/x"} {
		if _, ok := d.Attributes["x"]; !ok && rapid.Bool().Draw(t, "domain") {
			d.Attributes[name] = rapid.SampledFrom(values).Draw(t, "value")
		}
	}
	return d
}
