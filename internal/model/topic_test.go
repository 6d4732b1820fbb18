package model

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resourceapi "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

func metaOf(name, version string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: "u", ResourceVersion: version, CreationTimestamp: metav1.NewTime(time.Unix(7, 0)),
		Annotations: map[string]string{"version": version},
	}
}

// A change that is irrelevant to placement wakes no unit: a gang of 1,000 whose pods each get a
// condition must not be tried 1,000 times.
func TestIrrelevantChangesWakeNothing(t *testing.T) {
	pod := func(version string, edit func(*core.Pod)) *Pod {
		p := &core.Pod{ObjectMeta: metaOf("p", version)}
		p.Labels = map[string]string{"app": "a"}
		p.Spec.NodeSelector = map[string]string{"zone": "a"}
		if edit != nil {
			edit(p)
		}
		converted, err := PodFrom(p, []PodClaim{{Entry: "e", Claim: "c"}})
		if err != nil {
			t.Fatal(err)
		}
		return converted
	}
	condition := func(p *core.Pod) { p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled}} }
	claim := func(version string, edit func(*resourceapi.ResourceClaim)) *Claim {
		c := &resourceapi.ResourceClaim{ObjectMeta: metaOf("c", version)}
		c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{Count: 1,
			Capacity: &resourcev1.CapacityRequirements{
				Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("1Gi")},
			}}}}
		if edit != nil {
			edit(c)
		}
		return ClaimFrom(c)
	}
	group := func(version string, conditions ...metav1.Condition) *Group {
		g := &scheduling.PodGroup{ObjectMeta: metaOf("g", version)}
		g.Status.Conditions = conditions
		return GroupFrom(g)
	}
	node := func(version string, conditions ...corev1.NodeCondition) *Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: version}}
		n.Status.Conditions = conditions
		return NodeFrom(n)
	}
	slice := func(version string) *Slice {
		s := &resourcev1.ResourceSlice{ObjectMeta: metaOf("s", version)}
		s.Spec.Devices = []resourcev1.Device{
			{
				Name:     "d",
				Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("1Gi")}},
			},
		}
		return SliceFrom(s)
	}
	class := func(version string) *Class {
		return ClassFrom(&resourcev1.DeviceClass{ObjectMeta: metaOf("k", version)})
	}

	s := NewState()
	s.Pods.Put(pod("1", nil))
	s.Claims.Put(claim("1", nil))
	s.Groups.Put(group("1"))
	s.Nodes.Put(node("1"))
	s.Devices.PutSlice(slice("1"))
	s.Classes.Put(class("1"))
	unscheduled := metav1.Condition{
		Type:   schedulingv1beta1.PodGroupInitiallyScheduled,
		Status: metav1.ConditionFalse,
		Reason: "Unschedulable",
	}
	for what, topics := range map[string][]Topic{
		"a pod's condition":   s.Pods.Put(pod("2", condition)),
		"a group's condition": s.Groups.Put(group("2", unscheduled)),
		"a claim's metadata":  s.Claims.Put(claim("2", nil)),
		"a claim's finalizer": s.Claims.Put(claim("3", func(c *resourceapi.ResourceClaim) { c.Finalizers = []string{resourcev1.Finalizer} })),
		"a node's heartbeat":  s.Nodes.Put(node("2", corev1.NodeCondition{Type: corev1.NodeReady})),
		"a slice's metadata":  s.Devices.PutSlice(slice("2")),
		"a class's metadata":  s.Classes.Put(class("2")),
	} {
		if len(topics) > 0 {
			t.Errorf("%s gives %v", what, topics)
		}
	}
	// Versions are recorded all the same, so that an older one is ignored.
	if s.Pods.entries[Key{Namespace: "ns", Name: "p"}].pod.Version != 2 || s.Devices.slices["s"].Version != 2 {
		t.Error("a version was not kept")
	}
	for what, topics := range map[string][]Topic{
		"a pod's label":      s.Pods.Put(pod("3", func(p *core.Pod) { p.Labels["app"] = "b" })),
		"a pod's gate":       s.Pods.Put(pod("4", func(p *core.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} })),
		"a pod made anew":    s.Pods.Put(pod("5", func(p *core.Pod) { p.UID = "v" })),
		"a pod that is gone": s.Pods.Delete(Key{Namespace: "ns", Name: "p"}),
		"a scheduled group": s.Groups.Put(group("3", metav1.Condition{Type: scheduling.PodGroupScheduled,
			Status: metav1.ConditionTrue})),
		"a claim made anew": s.Claims.Put(claim("4", func(c *resourceapi.ResourceClaim) { c.UID = "v" })),
		"a claim's consumer": s.Claims.Put(claim("5", func(c *resourceapi.ResourceClaim) {
			c.UID = "v"
			c.Status.ReservedFor = []Consumer{PodConsumer("p", "u")}
		})),
		"a class's selectors":  s.Classes.Put(&Class{Name: "k", UID: "u", Version: 3, Selectors: []string{"true"}}),
		"another count":        s.Devices.PutSlice(&Slice{Name: "s", UID: "u", Version: 3, PoolSlices: 2}),
		"a node's allocatable": s.Nodes.Put(&Node{Name: "n", UID: "u", Version: 3, Allocatable: Resources{"cpu": 1}}),
	} {
		if len(topics) == 0 {
			t.Errorf("%s gives no topics", what)
		}
	}
}

// A changed label of a pod on a node is a topic if a term of another pod starts or stops to match
// the pod (P28).
func TestLabelsOfBoundPodsAreTopics(t *testing.T) {
	s := NewState()
	pod := func(name, node, app string, selects string) *Pod {
		p := &core.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns",
				Name:      name,
				UID:       types.UID(name),
				Labels:    map[string]string{"app": app},
			},
		}
		p.Spec.NodeName = node
		if selects != "" {
			p.Spec.Affinity = &corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": selects}}},
				}},
			}
		}
		converted, err := PodFrom(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		return converted
	}
	s.Nodes.Put(&Node{Name: "n"})
	s.Pods.Put(pod("bound", "n", "a", ""))
	s.Pods.Put(pod("waits", "", "w", "b"))
	for _, change := range []struct {
		app  string
		wake bool
	}{{"c", false}, {"b", true}, {"c", true}, {"a", false}} {
		topics := s.Pods.Put(pod("bound", "n", change.app, ""))
		if got := slices.Contains(topics, Topic{Kind: TopicPods}); got != change.wake {
			t.Errorf("label %s gives %v", change.app, topics)
		}
	}
	if topics := s.Pods.Put(pod("waits", "", "x", "b")); slices.Contains(topics, Topic{Kind: TopicPods}) {
		t.Errorf("the label of a pod without a node gives %v", topics)
	}
}

// A unit that waits until an allocation is in the API is woken then, although it was assumed
// before.
func TestAllocationThatArrivesIsATopic(t *testing.T) {
	s, key := NewState(), Key{Namespace: "ns", Name: "c"}
	s.Claims.Put(&Claim{Key: key, UID: "u", Version: 1})
	s.Claims.Assume(key, Assumption{Allocation: allocationOf("x")})
	topics := s.Claims.Put(&Claim{Key: key, UID: "u", Version: 2, Allocation: allocationOf("x")})
	if !slices.Contains(topics, Topic{Kind: TopicClaim, Key: key}) {
		t.Errorf("topics = %v", topics)
	}
}

// A half-bound gang is a unit even if it has no pod without a node, because it must be rolled back.
func TestHalfBoundUnit(t *testing.T) {
	key := Key{Namespace: "ns", Name: "g"}
	on := func(node string, edit func(*Pod)) *Pod {
		p := &Pod{Group: "g", Node: node, Shape: &Shape{}}
		if edit != nil {
			edit(p)
		}
		return p
	}
	tests := []struct {
		name      string
		pods      []*Pod
		scheduled bool
		unit      bool
		half      bool
	}{
		{"nothing bound", []*Pod{on("", nil), on("", nil)}, false, true, false},
		{"one bound, one waits", []*Pod{on("n", nil), on("", nil)}, false, true, true},
		{"one bound, nobody waits", []*Pod{on("n", nil)}, false, true, true},
		{"bound, but it was scheduled once", []*Pod{on("n", nil)}, true, false, false},
		{"all bound", []*Pod{on("n", nil), on("n", nil)}, false, false, false},
		{
			"all were bound, one has finished",
			[]*Pod{on("n", nil), on("n", func(p *Pod) { p.Finished = true })},
			false,
			false,
			false,
		},
		{"bound by somebody else", []*Pod{on("n", func(p *Pod) { p.Foreign = true }), on("", nil)}, false, true, false},
		{"being deleted", []*Pod{on("n", func(p *Pod) { p.Deleting = true }), on("", nil)}, false, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := NewState()
			s.Groups.Put(&Group{Key: key, UID: "g", Gang: true, MinCount: 2, Progress: Progress{Scheduled: test.scheduled}})
			for i, pod := range test.pods {
				pod.Key, pod.UID = Key{Namespace: "ns", Name: name("p", i)}, types.UID(name("p", i))
				s.Pods.Put(pod)
			}
			unit, ok := s.Unit(UnitKey{Group: true, Key: key})
			if ok != test.unit || ok && unit.HalfBound != test.half {
				t.Errorf("unit %v, half-bound %v", ok, ok && unit.HalfBound)
			}
		})
	}
}
