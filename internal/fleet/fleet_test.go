package fleet

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// TestFleet runs the descriptions of testdata: "fleet" prints the nodes and slices of a
// description, or all errors in it.
func TestFleet(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			f, err := Parse([]byte(d.Input))
			if err != nil {
				return err.Error() + "\n"
			}
			return describe(f, d.HasArg("devices"))
		})
	})
}

func describe(f Fleet, withDevices bool) string {
	var b strings.Builder
	for _, n := range f.Nodes() {
		fmt.Fprintf(&b, "node %s %s", n.Name, inline(n.Labels))
		for _, taint := range n.Spec.Taints {
			fmt.Fprintf(&b, " taint %s", taint.ToString())
		}
		fmt.Fprintf(&b, " %s\n", resources(n.Status.Allocatable))
	}
	for _, s := range f.Slices() {
		fmt.Fprintf(&b, "slice %s pool %s %d/%d devices %d on %s\n", s.Name, s.Spec.Pool.Name,
			s.Spec.Pool.Generation, s.Spec.Pool.ResourceSliceCount, len(s.Spec.Devices), reach(s.Spec))
		if !withDevices {
			continue
		}
		out, err := yaml.Marshal(s.Spec.Devices)
		if err != nil {
			panic(err)
		}
		b.Write(out)
		for _, set := range s.Spec.SharedCounters {
			fmt.Fprintf(&b, "counters %s: %s\n", set.Name, strings.Join(slices.Sorted(maps.Keys(set.Counters)), " "))
		}
	}
	return b.String()
}

func inline(labels map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if key != corev1.LabelOSStable && key != corev1.LabelArchStable {
			out = append(out, key+"="+labels[key])
		}
	}
	return strings.Join(out, ",")
}

func resources(list corev1.ResourceList) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		out = append(out, string(name)+"="+q.String())
	}
	return strings.Join(out, ",")
}

func reach(spec resourcev1.ResourceSliceSpec) string {
	switch {
	case spec.NodeName != nil:
		return "node " + *spec.NodeName
	case spec.PerDeviceNodeSelection != nil:
		return "nodes of each device"
	case spec.AllNodes != nil:
		return "all nodes"
	default:
		r := spec.NodeSelector.NodeSelectorTerms[0].MatchExpressions[0]
		return fmt.Sprintf("nodes with %s=%s", r.Key, strings.Join(r.Values, "|"))
	}
}

// TestSimple checks the fleet that "allot up" has without a description.
func TestSimple(t *testing.T) {
	f := Simple(3, 4)
	got := describe(f, false)
	want := `node node-0 allot.dev/fleet=default,kubernetes.io/hostname=node-0 cpu=32,ephemeral-storage=512Gi,memory=128Gi,pods=110
node node-1 allot.dev/fleet=default,kubernetes.io/hostname=node-1 cpu=32,ephemeral-storage=512Gi,memory=128Gi,pods=110
node node-2 allot.dev/fleet=default,kubernetes.io/hostname=node-2 cpu=32,ephemeral-storage=512Gi,memory=128Gi,pods=110
slice node-0-sim.allot.dev-0 pool node-0 1/1 devices 4 on node node-0
slice node-1-sim.allot.dev-0 pool node-1 1/1 devices 4 on node node-1
slice node-2-sim.allot.dev-0 pool node-2 1/1 devices 4 on node node-2
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected fleet (-want +got):\n%s", diff)
	}
	if nodes, devices := f.Size(); nodes != 3 || devices != 12 {
		t.Errorf("size is %d nodes and %d devices, want 3 and 12", nodes, devices)
	}
	if got := Simple(2, 0).Slices(); len(got) != 0 {
		t.Errorf("a fleet without devices publishes %d slices", len(got))
	}
}

// TestExamples parses the examples to which the documents refer.
func TestExamples(t *testing.T) {
	for _, test := range []struct {
		file           string
		nodes, devices int
	}{
		{"fleet.yaml", 12, 8*8 + 16},
		{"nvl72-racks.yaml", 72, 72*4 + 4*64},
		{"tpu-slices.yaml", 64, 64*4 + 16 + 4 + 2 + 1},
	} {
		data, err := os.ReadFile("../../examples/" + test.file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(data)
		if err != nil {
			t.Fatal(test.file, err)
		}
		if nodes, devices := f.Size(); nodes != test.nodes || devices != test.devices {
			t.Errorf("%s: size is %d nodes and %d devices", test.file, nodes, devices)
		}
		published := 0
		for _, slice := range f.Slices() {
			published += len(slice.Spec.Devices)
		}
		if published != test.devices {
			t.Errorf("%s: %d devices are published", test.file, published)
		}
	}
}

// TestDocument parses every YAML block of the reference.
func TestDocument(t *testing.T) {
	data, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(data), "```yaml\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("docs/fleet.md has no YAML block")
	}
	for i, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if _, err := Parse([]byte(block)); err != nil {
			t.Errorf("block %d: %v\n%s", i+1, err, block)
		}
	}
}

// TestSlicesKeepLimits divides pools of any size into slices, and checks the limits of a slice.
func TestSlicesKeepLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 300), 1, 4).Draw(t, "counts")
		pool := NodePool{Name: "n", Count: 2}
		total := 0
		for i, count := range counts {
			pool.Devices = append(pool.Devices,
				DeviceSet{Driver: DefaultDriver, Name: fmt.Sprintf("d%d-{index}", i), Count: count})
			total += count
		}
		f := Fleet{Name: "f", Pools: []NodePool{pool}}
		out := f.Slices()
		if diff := cmp.Diff(out, f.Slices()); diff != "" {
			t.Fatalf("two calls differ:\n%s", diff)
		}
		names, devices := map[string]bool{}, map[string]bool{}
		for _, s := range out {
			if n := len(s.Spec.Devices); n == 0 || n > 128 {
				t.Fatalf("slice %s has %d devices", s.Name, n)
			}
			if names[s.Name] {
				t.Fatalf("slice %s comes twice", s.Name)
			}
			names[s.Name] = true
			if want := int64((total + 127) / 128); s.Spec.Pool.ResourceSliceCount != want {
				t.Fatalf("slice %s says %d slices, want %d", s.Name, s.Spec.Pool.ResourceSliceCount, want)
			}
			for _, d := range s.Spec.Devices {
				devices[s.Spec.Pool.Name+"/"+d.Name] = true
			}
		}
		if len(devices) != 2*total {
			t.Fatalf("%d devices published, want %d", len(devices), 2*total)
		}
	})
}
