package picture

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/snapshot"
)

// A page that gets a difference for some of the Pictures shows the same as a page that opens now,
// whatever has changed. A Picture that was sent does not change.
func TestDifferencesAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(t)
		shown, sent := page{}, &Picture{}
		var sentText string
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			c.now = c.now.Add(time.Duration(rapid.IntRange(0, 120).Draw(rt, "seconds")) * time.Second)
			c.change(rt)
			c.paint()
			if got := encode(rt, sent); sentText != "" && got != sentText {
				rt.Fatalf("a Picture was changed: %s", cmp.Diff(sentText, got))
			}
			if rapid.Bool().Draw(rt, "sent") {
				shown.apply(c.picture.Since(sent))
				sent = c.picture
				sentText = encode(rt, sent)
				opened := page{}
				opened.apply(sent.Since(&Picture{}))
				if diff := cmp.Diff(encode(rt, opened), encode(rt, shown)); diff != "" {
					rt.Fatal(diff)
				}
			}
		}
	})
}

// A Picture does not depend on what was painted before, except for the order of kinds and the
// timeline.
func TestPicturesHaveNoMemory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(t)
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			c.change(rt)
			c.paint()
		}
		first := NewPainter(c.world, snapshot.Server{}, "").Paint(&Picture{Kinds: c.picture.Kinds}, c.picture.Taken, nil)
		now := *c.picture
		now.Timeline, first.Timeline = Timeline{}, Timeline{}
		now.Cluster = first.Cluster
		if diff := cmp.Diff(encode(rt, first), encode(rt, &now)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// page is the state of a page, as fleet.js keeps it.
type page struct {
	Kinds                       []Kind
	Nodes, Pools, Units, Claims map[string]any
	Samples                     []Sample
}

func (p *page) apply(d *Difference) {
	p.Kinds = append(p.Kinds, d.Kinds...)
	applyTo(&p.Nodes, d.Nodes)
	applyTo(&p.Pools, d.Pools)
	applyTo(&p.Units, d.Units)
	applyTo(&p.Claims, d.Claims)
	if n := len(p.Samples); n > 0 && len(d.Samples) > 0 && !p.Samples[n-1].Time.Before(&d.Samples[0].Time) {
		p.Samples = p.Samples[:n-1]
	}
	p.Samples = append(p.Samples, d.Samples...)
	oldest := d.Taken.Add(-Span)
	p.Samples = slices.DeleteFunc(slices.Clone(p.Samples), func(s Sample) bool { return s.Time.Time.Before(oldest) })
}

func applyTo[T entry[T]](entries *map[string]any, c *Changes[T]) {
	if *entries == nil {
		*entries = map[string]any{}
	}
	if c == nil {
		return
	}
	for _, entry := range c.Put {
		(*entries)[entry.Key()] = entry
	}
	for _, key := range c.Deleted {
		delete(*entries, key)
	}
}

func encode(t *rapid.T, value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "},{", "},\n{")
}

// change makes a random change of a small cluster.
func (c *cluster) change(t *rapid.T) {
	name := fmt.Sprintf("x%d", rapid.IntRange(0, 2).Draw(t, "name"))
	meta := metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}
	global := metav1.ObjectMeta{Name: name, UID: types.UID(name)}
	object := rapid.SampledFrom([]client.Object{
		&corev1.Node{ObjectMeta: global, Spec: corev1.NodeSpec{Unschedulable: rapid.Bool().Draw(t, "cordoned")}},
		randomSlice(t, global), randomClaim(t, meta), randomPod(t, meta),
		&scheduling.PodGroup{ObjectMeta: meta},
		&resourcev1.DeviceTaintRule{ObjectMeta: global, Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Pool: &name},
			Taint:          resourcev1.DeviceTaint{Key: "k", Effect: resourcev1.DeviceTaintEffectNoSchedule},
		}},
		&resourcev1.DeviceClass{ObjectMeta: global, Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: `device.allowMultipleAllocations`}},
		}}},
	}).Draw(t, "object")
	if rapid.IntRange(0, 3).Draw(t, "deletes") == 0 {
		c.world.Remove(object)
	} else {
		c.world.Put(object)
	}
}

func randomSlice(t *rapid.T, meta metav1.ObjectMeta) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{ObjectMeta: meta, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com",
		Pool:   resourcev1.ResourcePool{Name: meta.Name, ResourceSliceCount: int64(rapid.IntRange(1, 2).Draw(t, "slices"))},
	}}
	if rapid.Bool().Draw(t, "local") {
		slice.Spec.NodeName = &meta.Name
	} else {
		slice.Spec.AllNodes = ptr.To(true)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "devices") {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprintf("d%d", i), AllowMultipleAllocations: ptr.To(rapid.Bool().Draw(t, "shareable")),
		})
	}
	return slice
}

func randomClaim(t *rapid.T, meta metav1.ObjectMeta) *resource.ResourceClaim {
	claim := &resource.ResourceClaim{ObjectMeta: meta}
	if rapid.Bool().Draw(t, "allocated") {
		claim.Status.Allocation = &resource.AllocationResult{}
		claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{
			Driver: "gpu.example.com", Pool: fmt.Sprintf("x%d", rapid.IntRange(0, 3).Draw(t, "pool")),
			Device: fmt.Sprintf("d%d", rapid.IntRange(0, 3).Draw(t, "device")),
		}}
	}
	return claim
}

func randomPod(t *rapid.T, meta metav1.ObjectMeta) *core.Pod {
	pod := &core.Pod{ObjectMeta: meta}
	if rapid.Bool().Draw(t, "member") {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To("x0")}
	}
	if rapid.Bool().Draw(t, "bound") {
		pod.Spec.NodeName = "x1"
	}
	if rapid.Bool().Draw(t, "uses") {
		pod.Spec.ResourceClaims = []core.PodResourceClaim{{
			PodResourceClaim: corev1.PodResourceClaim{Name: "c", ResourceClaimName: ptr.To("x2")},
		}}
	}
	return pod
}
