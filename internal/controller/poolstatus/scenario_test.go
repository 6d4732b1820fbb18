package poolstatus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	scheme "github.com/allot-dev/allot/api"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

// world is the server, the caches, the queue and the clock of a controller.
type world struct {
	controller *Controller
	requests   *memcache.Cache[*upstreamv1alpha3.ResourcePoolStatusRequest]
	slices     *memcache.Cache[*resourcev1.ResourceSlice]
	claims     *memcache.Cache[*resource.ResourceClaim]
	rules      *memcache.Cache[*resourcev1.DeviceTaintRule]
	clock      *testclock.FakeClock
	ready      []string
	later      map[string][]time.Time
	refuse     error
	log        []string
}

func newWorld() *world {
	w := &world{
		requests: memcache.New[*upstreamv1alpha3.ResourcePoolStatusRequest](),
		slices:   memcache.New[*resourcev1.ResourceSlice](),
		claims:   memcache.New[*resource.ResourceClaim](), rules: memcache.New[*resourcev1.DeviceTaintRule](),
		clock: testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), later: map[string][]time.Time{},
	}
	w.controller = &Controller{
		cache:  caches{w.requests, w.slices, w.claims, w.rules},
		server: w,
		queue:  w,
		opts:   Options{Clock: w.clock}.withDefaults(),
	}
	w.requests.OnChange(w.controller.onRequest)
	w.slices.OnChange(w.controller.onSlice)
	return w
}

func (w *world) Add(name string) { w.ready = append(w.ready, name) }

func (w *world) AddAfter(name string, d time.Duration) {
	w.later[name] = append(w.later[name], w.clock.Now().Add(d))
}

func (w *world) Answer(_ context.Context, request *upstreamv1alpha3.ResourcePoolStatusRequest) error {
	if w.refuse != nil {
		return w.refuse
	}
	w.requests.Put(request)
	w.say("%s", text(request.Name, request.Status))
	return nil
}

func (w *world) Delete(_ context.Context, request *upstreamv1alpha3.ResourcePoolStatusRequest) error {
	if w.refuse != nil {
		return w.refuse
	}
	w.requests.Delete("", request.Name)
	w.say("delete %s", request.Name)
	return nil
}

func (w *world) say(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// work processes all ready keys.
func (w *world) work() {
	for len(w.ready) > 0 {
		name := w.ready[0]
		w.ready = w.ready[1:]
		if err := w.controller.reconcile(context.Background(), name); err != nil {
			w.say("error: %v", err)
			w.later[name] = append(w.later[name], w.clock.Now().Add(time.Second))
		}
	}
}

// advance advances the clock, and enqueues the keys that are due.
func (w *world) advance(d time.Duration) {
	w.clock.Step(d)
	for name, times := range w.later {
		var still []time.Time
		for _, at := range times {
			if at.After(w.clock.Now()) {
				still = append(still, at)
			}
		}
		if len(still) < len(times) {
			w.ready = append(w.ready, name)
		}
		w.later[name] = still
	}
}

// text formats a status.
func text(name string, status *upstreamv1alpha3.ResourcePoolStatusRequestStatus) string {
	var b strings.Builder
	c := status.Conditions[0]
	fmt.Fprintf(&b, "%s: %s %s: %s", name, c.Type, c.Reason, c.Message)
	for _, p := range status.Pools {
		fmt.Fprintf(&b, "\n  %s generation %d", p.PoolName, p.Generation)
		if p.NodeName != nil {
			fmt.Fprintf(&b, " on %s", *p.NodeName)
		}
		if p.TotalDevices != nil {
			fmt.Fprintf(&b, ", %d slices: %d = %d allocated + %d unavailable + %d available",
				*p.ResourceSliceCount, *p.TotalDevices, *p.AllocatedDevices, *p.UnavailableDevices, *p.AvailableDevices)
		}
		if p.ValidationError != nil {
			fmt.Fprintf(&b, "\n    %s", *p.ValidationError)
		}
		for _, t := range p.PartitionSummary {
			fmt.Fprintf(&b, "\n    %s=%s: %d of %d", t.Attribute, t.Type, *t.Allocatable, *t.Total)
		}
		if s := p.ShareableSummary; s != nil {
			fmt.Fprintf(&b, "\n    shared: %d untouched, %d in part", *s.FullyAvailableDevices, *s.PartiallyAvailableDevices)
			for _, c := range s.Capacity {
				fmt.Fprintf(&b, "\n    %s: %s = %s + %s left", c.Name, c.Total, c.Consumed, c.Available)
			}
		}
	}
	return b.String()
}

// TestScenarios runs testdata. Rewrite with: go test ./internal/controller/poolstatus -rewrite.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.play(t, d)
			w.work()
			out := strings.Join(w.log, "\n") + "\n"
			w.log = nil
			if out == "\n" {
				return "nothing\n"
			}
			return out
		})
	})
}

func (w *world) play(t *testing.T, d *datadriven.TestData) {
	switch d.Cmd {
	case "apply": // manifests of slices, claims and rules; of "repeat" ones, N is 0, 1, …
		repeat := 1
		d.MaybeScanArgs(t, "repeat", &repeat)
		for n := range repeat {
			for manifest := range strings.SplitSeq(d.Input, "\n---\n") {
				w.apply(t, d, strings.ReplaceAll(manifest, "{N}", fmt.Sprint(n)))
			}
		}
	case "remove": // slice=… claim=… rule=…
		for _, arg := range d.CmdArgs {
			map[string]func(namespace, name string){"slice": w.slices.Delete, "claim": w.claims.Delete,
				"rule": w.rules.Delete}[arg.Key](
				"", arg.Vals[0],
			)
		}
	case "request":
		w.requests.Put(w.request(t, d))
	case "advance":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		w.advance(by)
	case "refuse": // with=notfound, with=error, or nothing
		w.refuse = nil
		if d.HasArg("notfound") {
			w.refuse = apierrors.NewNotFound(upstreamv1alpha3.Resource("resourcepoolstatusrequests"), "r")
		} else if d.HasArg("error") {
			w.refuse = errors.New("the connection is lost")
		}
	case "off": // a feature
		if err := w.controller.opts.Features.Set(d.CmdArgs[0].Key + "=false"); err != nil {
			d.Fatalf(t, "%v", err)
		}
	default:
		d.Fatalf(t, "unknown verb")
	}
}

// request parses: request r [driver=…] [pool=…] [limit=…] [type=…].
func (w *world) request(t *testing.T, d *datadriven.TestData) *upstreamv1alpha3.ResourcePoolStatusRequest {
	r := &upstreamv1alpha3.ResourcePoolStatusRequest{ObjectMeta: metav1.ObjectMeta{
		Name: d.CmdArgs[0].Key, CreationTimestamp: metav1.NewTime(w.clock.Now()),
	}}
	r.Spec = upstreamv1alpha3.ResourcePoolStatusRequestSpec{Driver: "gpu.example.com"}
	d.MaybeScanArgs(t, "driver", &r.Spec.Driver)
	for to, key := range map[**string]string{&r.Spec.PoolName: "pool", &r.Spec.DefaultPartitionTypeAttribute: "type"} {
		if d.HasArg(key) {
			var value string
			d.ScanArgs(t, key, &value)
			*to = &value
		}
	}
	if d.HasArg("limit") {
		var limit int
		d.ScanArgs(t, "limit", &limit)
		r.Spec.Limit = ptr.To(int32(limit))
	}
	return r
}

func (w *world) apply(t *testing.T, d *datadriven.TestData, manifest string) {
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(manifest), nil, nil)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	switch o := obj.(type) {
	case *resourcev1.ResourceSlice:
		w.slices.Put(o)
	case *resource.ResourceClaim:
		w.claims.Put(o)
	case *resourcev1.DeviceTaintRule:
		w.rules.Put(o)
	default:
		d.Fatalf(t, "a %T is not read", obj)
	}
}
