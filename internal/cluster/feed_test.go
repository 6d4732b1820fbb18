package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

const ns = "ns"

// world has caches with a Feed on them.
type world struct {
	pods       *memcache.Cache[*core.Pod]
	groups     *memcache.Cache[*scheduling.PodGroup]
	claims     *memcache.Cache[*resource.ResourceClaim]
	nodes      *memcache.Cache[*corev1.Node]
	namespaces *memcache.Cache[*corev1.Namespace]
	classes    *memcache.Cache[*resourcev1.DeviceClass]
	slices     *memcache.Cache[*resourcev1.ResourceSlice]
	rules      *memcache.Cache[*resourcev1.DeviceTaintRule]
	feed       *Feed
	state      *model.State
}

func newWorld(t interface{ Fatal(args ...any) }) *world {
	w := &world{
		pods: memcache.New[*core.Pod](), groups: memcache.New[*scheduling.PodGroup](),
		claims: memcache.New[*resource.ResourceClaim](),
		nodes:  memcache.New[*corev1.Node](), namespaces: memcache.New[*corev1.Namespace](),
		classes: memcache.New[*resourcev1.DeviceClass](), slices: memcache.New[*resourcev1.ResourceSlice](),
		rules: memcache.New[*resourcev1.DeviceTaintRule](), state: model.NewState(),
	}
	var err error
	w.feed, err = NewFeed(
		Caches{
			Pods:       w.pods,
			PodGroups:  w.groups,
			Claims:     w.claims,
			Nodes:      w.nodes,
			Namespaces: w.namespaces,
			Classes:    w.classes,
			Slices:     w.slices,
			TaintRules: w.rules,
		},
		"default-scheduler",
	)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// show prints the State, with the claims of the pods' entries.
func (w *world) show() string {
	var b strings.Builder
	b.WriteString(w.state.Dump())
	for _, pod := range w.pods.List() {
		if p, ok := w.state.Pods.Get(model.Key{Namespace: ns, Name: pod.Name}); ok {
			fmt.Fprintf(&b, "%s: %+v foreign %v\n", pod.Name, p.Claims, p.Foreign)
		}
	}
	return b.String()
}

// event is one change of one object.
type event func(*world)

// history is the sequence of changes of one object.
type history struct {
	events []event
	last   event // nil if it is deleted in the end
}

// historyOf generates the versions of an object. version generates one of them, for an object with
// this metadata.
func historyOf[T metav1.Object](
	t *rapid.T, name string, pick func(*world) *memcache.Cache[T], version func(meta metav1.ObjectMeta) T,
) history {
	var h history
	uid := 0
	for i := range rapid.IntRange(0, 4).Draw(t, "versions of "+name) {
		if h.last != nil && rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
			meta := metav1.ObjectMeta{Namespace: ns, Name: name}
			gone := version(meta)
			h.events, h.last = append(h.events, func(w *world) { pick(w).Delete(gone.GetNamespace(), name) }), nil
			uid++
			continue
		}
		object := version(
			metav1.ObjectMeta{
				Namespace:       ns,
				Name:            name,
				UID:             types.UID(fmt.Sprint(name, uid)),
				ResourceVersion: strconv.Itoa(10*uid + i + 1),
			},
		)
		put := event(func(w *world) { pick(w).Put(object) })
		h.events, h.last = append(h.events, put), put
	}
	return h
}

func drawPod(t *rapid.T) func(metav1.ObjectMeta) *core.Pod {
	return func(meta metav1.ObjectMeta) *core.Pod {
		pod := &core.Pod{ObjectMeta: meta}
		pod.Spec.SchedulerName = rapid.SampledFrom([]string{"default-scheduler", "other"}).Draw(t, "scheduler")
		pod.Spec.NodeName = rapid.SampledFrom([]string{"", "n0"}).Draw(t, "node")
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To("g")}
		shared := core.PodResourceClaim{PodGroupResourceClaim: ptr.To("shared")}
		shared.Name = "shared"
		direct := core.PodResourceClaim{}
		direct.Name, direct.ResourceClaimName = "direct", ptr.To("c0")
		pod.Spec.ResourceClaims = []core.PodResourceClaim{shared, direct}
		if rapid.Bool().Draw(t, "recorded") {
			pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "shared", ResourceClaimName: ptr.To("c1")}}
		}
		pod.Spec.Containers = []corev1.Container{
			{
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse("1")},
				},
			},
		}
		return pod
	}
}

func drawGroup(t *rapid.T) func(metav1.ObjectMeta) *scheduling.PodGroup {
	return func(meta metav1.ObjectMeta) *scheduling.PodGroup {
		group := &scheduling.PodGroup{ObjectMeta: meta}
		group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}
		entry := scheduling.PodGroupResourceClaim{}
		entry.Name, entry.ResourceClaimTemplateName = "shared", ptr.To("template")
		group.Spec.ResourceClaims = []scheduling.PodGroupResourceClaim{entry}
		if rapid.Bool().Draw(t, "generated") {
			group.Status.ResourceClaimStatuses = []schedulingv1beta1.PodGroupResourceClaimStatus{
				{Name: "shared", ResourceClaimName: ptr.To("c1")},
			}
		}
		return group
	}
}

func drawClaim(t *rapid.T) func(metav1.ObjectMeta) *resource.ResourceClaim {
	return func(meta metav1.ObjectMeta) *resource.ResourceClaim {
		claim := &resource.ResourceClaim{ObjectMeta: meta}
		if device := rapid.SampledFrom([]string{"", "d0", "d1"}).Draw(t, "device"); device != "" {
			claim.Status.Allocation = &resource.AllocationResult{}
			claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{
				{Request: "r", Driver: "d", Pool: "s0", Device: device},
			}
		}
		return claim
	}
}

func drawTaintRule(t *rapid.T) func(metav1.ObjectMeta) *resourcev1.DeviceTaintRule {
	return func(meta metav1.ObjectMeta) *resourcev1.DeviceTaintRule {
		meta.Namespace = ""
		rule := &resourcev1.DeviceTaintRule{ObjectMeta: meta}
		rule.Spec.Taint = resourcev1.DeviceTaint{
			Key:    "k",
			Effect: rapid.SampledFrom([]resourcev1.DeviceTaintEffect{"None", "NoSchedule", "NoExecute"}).Draw(t, "effect"),
		}
		if rapid.IntRange(0, 3).Draw(t, "selector") == 0 {
			return rule
		}
		rule.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{}
		name := func(names ...string) *string {
			if name := rapid.SampledFrom(append(names, "")).Draw(t, "name"); name != "" {
				return &name
			}
			return nil
		}
		rule.Spec.DeviceSelector.Driver, rule.Spec.DeviceSelector.Pool, rule.Spec.DeviceSelector.Device = name(
			"d", "e",
		), name("s0", "s1"), name(
			"d0",
			"d1",
		)
		return rule
	}
}

func histories(t *rapid.T) []history {
	var all []history
	for i := range 2 {
		all = append(
			all,
			historyOf(
				t,
				fmt.Sprint("n", i),
				func(w *world) *memcache.Cache[*corev1.Node] { return w.nodes },
				func(meta metav1.ObjectMeta) *corev1.Node {
					meta.Namespace = ""
					node := &corev1.Node{ObjectMeta: meta}
					node.Status.Allocatable = corev1.ResourceList{
						corev1.ResourceCPU: *apiresource.NewQuantity(rapid.Int64Range(1, 3).Draw(t, "cpu"), apiresource.DecimalSI),
					}
					return node
				},
			),
		)
		all = append(
			all,
			historyOf(t, fmt.Sprint("c", i), func(w *world) *memcache.Cache[*resource.ResourceClaim] { return w.claims },
				drawClaim(t)),
		)
		all = append(
			all,
			historyOf(
				t,
				fmt.Sprint("s", i),
				func(w *world) *memcache.Cache[*resourcev1.ResourceSlice] { return w.slices },
				func(meta metav1.ObjectMeta) *resourcev1.ResourceSlice {
					meta.Namespace = ""
					slice := &resourcev1.ResourceSlice{ObjectMeta: meta}
					slice.Spec = resourcev1.ResourceSliceSpec{
						Driver:   "d",
						NodeName: ptr.To("n0"),
						Pool:     resourcev1.ResourcePool{Name: meta.Name, ResourceSliceCount: 1},
					}
					for d := range rapid.IntRange(0, 2).Draw(t, "devices") {
						slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", d)})
					}
					return slice
				},
			),
		)
	}
	for i := range 2 {
		all = append(
			all,
			historyOf(t, fmt.Sprint("r", i), func(w *world) *memcache.Cache[*resourcev1.DeviceTaintRule] { return w.rules },
				drawTaintRule(t)),
		)
	}
	for i := range 3 {
		all = append(all,
			historyOf(t, fmt.Sprint("p", i), func(w *world) *memcache.Cache[*core.Pod] { return w.pods }, drawPod(t)))
	}
	all = append(all,
		historyOf(t, "g", func(w *world) *memcache.Cache[*scheduling.PodGroup] { return w.groups }, drawGroup(t)))
	all = append(
		all,
		historyOf(
			t,
			"gpu",
			func(w *world) *memcache.Cache[*resourcev1.DeviceClass] { return w.classes },
			func(meta metav1.ObjectMeta) *resourcev1.DeviceClass {
				meta.Namespace = ""
				return &resourcev1.DeviceClass{ObjectMeta: meta}
			},
		),
	)
	return append(
		all,
		historyOf(
			t,
			ns,
			func(w *world) *memcache.Cache[*corev1.Namespace] { return w.namespaces },
			func(meta metav1.ObjectMeta) *corev1.Namespace {
				meta.Namespace = ""
				meta.Labels = map[string]string{"team": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "team")}
				return &corev1.Namespace{ObjectMeta: meta}
			},
		),
	)
}

// The State depends on the final objects, not on the order in which changes of different kinds
// arrived, nor on when they were applied.
func TestOrderOfEventsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := histories(t)
		straight := newWorld(t)
		for _, h := range all {
			if h.last != nil {
				h.last(straight)
			}
		}
		straight.feed.Apply(straight.state)

		mixed := newWorld(t)
		left := 0
		for _, h := range all {
			left += len(h.events)
		}
		for ; left > 0; left-- {
			var open []int
			for i := range all {
				if len(all[i].events) > 0 {
					open = append(open, i)
				}
			}
			h := &all[rapid.SampledFrom(open).Draw(t, "whose")]
			h.events[0](mixed)
			h.events = h.events[1:]
			if rapid.Bool().Draw(t, "apply") {
				mixed.feed.Apply(mixed.state)
				if err := mixed.state.Audit(); err != nil {
					t.Fatal(err)
				}
			}
		}
		mixed.feed.Apply(mixed.state)
		if got, want := mixed.show(), straight.show(); got != want {
			t.Fatalf("have\n%s\nwant\n%s", got, want)
		}
	})
}

// Changes that are not applied yet are announced once, and applied once.
func TestWake(t *testing.T) {
	w := newWorld(t)
	select {
	case <-w.feed.Wake():
		t.Error("nothing has happened yet")
	default:
	}
	for i := range 3 {
		w.pods.Put(&core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("p", i), UID: "u"}})
	}
	<-w.feed.Wake()
	select {
	case <-w.feed.Wake():
		t.Error("announced twice")
	default:
	}
	if topics := w.feed.Apply(w.state); len(topics) != 3 {
		t.Errorf("topics = %v", topics)
	}
	if topics := w.feed.Apply(w.state); len(topics) != 0 {
		t.Errorf("topics = %v", topics)
	}
}

// A pod that is created before its PodGroup gets its claims when the PodGroup is created.
func TestPodIsResolvedAgainWithItsGroup(t *testing.T) {
	w := newWorld(t)
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p", UID: "u"}}
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To("g")}
	entry := core.PodResourceClaim{PodGroupResourceClaim: ptr.To("shared")}
	entry.Name = "shared"
	pod.Spec.ResourceClaims = []core.PodResourceClaim{entry}
	w.pods.Put(pod)
	w.feed.Apply(w.state)
	group := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "g", UID: "g"}}
	claim := scheduling.PodGroupResourceClaim{}
	claim.Name, claim.ResourceClaimName = "shared", ptr.To("c")
	group.Spec.ResourceClaims = []scheduling.PodGroupResourceClaim{claim}
	want := []model.PodClaim{{Entry: "shared", Claim: "c", Group: true}}
	key := model.Key{Namespace: ns, Name: "p"}
	if p, _ := w.state.Pods.Get(key); p.Claims[0].Claim != "" || p.Claims[0].Problem == "" {
		t.Errorf("claims without the group: %+v", p.Claims)
	}
	w.groups.Put(group)
	w.feed.Apply(w.state)
	if p, _ := w.state.Pods.Get(key); fmt.Sprint(p.Claims) != fmt.Sprint(want) {
		t.Errorf("claims = %+v, want %+v", p.Claims, want)
	}
}
