package devicetaint

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/allot-dev/allot/internal/claims/claimstest"
)

// TestScenarios runs testdata. Rewrite with: go test ./internal/controller/devicetaint -rewrite.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.play(t, d)
			w.work(t)
			return w.flush()
		})
	})
}

func (w *world) play(t *testing.T, d *datadriven.TestData) {
	switch d.Cmd {
	case "objects":
		objects, err := claimstest.Parse(d.Input)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		w.put(objects)
	case "newer": // claims that the cache does not show yet
		objects, err := claimstest.Parse(d.Input)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		for _, claim := range objects.Claims {
			w.newer[claim.Name] = claim
		}
	case "gone": // pod=…, claim=…, slice=…, rule=…
		for _, arg := range d.CmdArgs {
			w.remove(t, d, arg.Key, arg.Vals[0])
		}
	case "slice":
		w.slices.Put(sliceFrom(t, d))
	case "rule":
		w.putRule(ruleFrom(t, d))
	case "fail":
		w.fails++
	case "pass":
		w.pass(t, parseDuration(t, d, d.CmdArgs[0].Key))
	default:
		d.Fatalf(t, "unknown verb")
	}
}

func (w *world) remove(t *testing.T, d *datadriven.TestData, kind, name string) {
	switch kind {
	case "pod":
		w.pods.Delete("default", name)
	case "claim":
		w.claims.Delete("default", name)
	case "slice":
		w.slices.Delete("", name)
	case "rule":
		w.rules.Delete("", name)
	default:
		d.Fatalf(t, "unknown kind %s", kind)
	}
}

// sliceFrom parses a slice of the pool n1 (slice s1 generation=2), with one device per line and its
// taints: key:effect:added.
func sliceFrom(t *testing.T, d *datadriven.TestData) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: d.CmdArgs[0].Key}}
	s.Spec.Driver = "gpu.example.com"
	s.Spec.Pool = resourcev1.ResourcePool{Name: "n1", Generation: 1}
	d.MaybeScanArgs(t, "generation", &s.Spec.Pool.Generation)
	for line := range strings.Lines(d.Input) {
		fields := strings.Fields(line)
		device := resourcev1.Device{Name: fields[0]}
		for _, text := range fields[1:] {
			words := strings.Split(text, ":")
			added := metav1.NewTime(time.Unix(0, 0).Add(parseDuration(t, d, words[2])))
			device.Taints = append(device.Taints,
				resourcev1.DeviceTaint{Key: words[0], Effect: resourcev1.DeviceTaintEffect(words[1]), TimeAdded: &added})
		}
		s.Spec.Devices = append(s.Spec.Devices, device)
	}
	return s
}

// ruleFrom parses: rule r1 effect=NoExecute key=k driver=… pool=… device=… added=…, or noselector.
func ruleFrom(t *testing.T, d *datadriven.TestData) *resourcev1.DeviceTaintRule {
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: d.CmdArgs[0].Key}}
	selector := &resourcev1.DeviceTaintSelector{}
	rule.Spec.DeviceSelector = selector
	rule.Spec.Taint.Key = "bad"
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "effect":
			rule.Spec.Taint.Effect = resourcev1.DeviceTaintEffect(arg.Vals[0])
		case "key":
			rule.Spec.Taint.Key = arg.Vals[0]
		case "driver":
			selector.Driver = ptr.To(arg.Vals[0])
		case "pool":
			selector.Pool = ptr.To(arg.Vals[0])
		case "device":
			selector.Device = ptr.To(arg.Vals[0])
		case "added":
			rule.Spec.Taint.TimeAdded = ptr.To(metav1.NewTime(time.Unix(0, 0).Add(parseDuration(t, d, arg.Vals[0]))))
		case "noselector":
			rule.Spec.DeviceSelector = nil
		default:
			d.Fatalf(t, "unknown word %s", arg.Key)
		}
	}
	return rule
}

func parseDuration(t *testing.T, d *datadriven.TestData, text string) time.Duration {
	v, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return v
}
