package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
)

// breaks are the ways in which the devices of n1 cannot be used any more, and what the group says
// of it.
var breaks = []struct {
	name string
	done func(s *server)
	says string
	// joins: pods may join others that run with the devices.
	joins bool
}{
	{"node deleted", func(s *server) { removeNode(s, "n1") }, "of node n1, which does not exist", false},
	{"node cordoned", func(s *server) {
		editNode(s, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	}, "of node n1, which is unschedulable", false},
	{"node cut off", func(s *server) {
		editNode(s, func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{
				{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
				{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
			}
		})
	}, "of node n1, which has the taint {node.kubernetes.io/unreachable: }", false},
	{
		"device tainted NoExecute",
		taintDevice(resourcev1.DeviceTaintEffectNoExecute),
		"device gpu.example.com/n1/gpu-0, which is tainted with broken:NoExecute",
		false,
	},
	{
		"device tainted NoSchedule",
		taintDevice(resourcev1.DeviceTaintEffectNoSchedule),
		"device gpu.example.com/n1/gpu-0, which is tainted with broken:NoSchedule",
		true,
	},
	{
		"slice withdrawn",
		func(s *server) { removeSlice(s, "slice-n1") },
		"device gpu.example.com/n1/gpu-0, whose pool is not published any more",
		true,
	},
}

func taintDevice(effect resourcev1.DeviceTaintEffect) func(s *server) {
	return func(s *server) {
		slice, _ := s.objects.slices.Get("", "slice-n1")
		slice = slice.DeepCopy()
		for i := range slice.Spec.Devices {
			slice.Spec.Devices[i].Taints = []resourcev1.DeviceTaint{{Key: "broken", Effect: effect}}
		}
		put(s, sliced, slice)
	}
}

func editNode(s *server, change func(*corev1.Node)) {
	node, _ := s.objects.nodes.Get("", "n1")
	node = node.DeepCopy()
	change(node)
	put(s, nodes, node)
}

func removeNode(s *server, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(func(k *kinds) { k.nodes.Delete("", name) })
}

func removeSlice(s *server, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(func(k *kinds) { k.slices.Delete("", name) })
}

// toldGroup returns what the conditions of group g say.
func toldGroup(s *server) string {
	var out []string
	for _, c := range s.group("g").Status.Conditions {
		out = append(out, c.Message)
	}
	return strings.Join(out, "; ")
}

// told is message of a pod that need not be there.
func (s *server) told(name string) string {
	if _, ok := s.objects.pods.Get(ns, name); !ok {
		return ""
	}
	return s.message(name)
}

// P2: a gang that has run on devices that cannot be used any more is placed with others as a whole,
// once none of its pods is on a node; until there are others, it keeps its claims and says what
// broke.
func TestAGroupLeavesDevicesThatItCannotUse(t *testing.T) {
	for _, b := range breaks {
		for _, shared := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d claims", b.name, shared), func(t *testing.T) {
				s := newServer(t)
				s.addNode("n1", 4, shared)
				var names []string
				var uses []func(*core.Pod)
				for i := range shared {
					name := fmt.Sprint("c", i)
					s.addClaim(name, 1)
					names, uses = append(names, name), append(uses, ofGroup(name))
				}
				s.addGang("g", 2, names...)
				s.addMembers("g", 2, uses...)
				x := start(t, s)
				x.pass(time.Second)
				if got := s.bound("g"); len(got) != 2 {
					t.Fatalf("bound %v: %s", got, toldGroup(s))
				}

				// One pod is left: nothing is moved, and the group says why.
				b.done(s)
				s.deletePod("g-0")
				if !b.joins {
					s.addPod("again-0", "g", uses...)
				}
				x.pass(3 * time.Second)
				if s.device("c0") == "" {
					t.Fatal("a claim was freed under a pod that runs")
				}
				if got, want := toldGroup(s)+s.told("again-0"), "used by pod "+ns+"/g-1 on node n1: delete that pod"; !b.joins &&
					!strings.Contains(got, want) {
					t.Errorf("told %q, not %q", got, want)
				}

				s.deletePod("g-1")
				if b.joins {
					s.addPod("again-0", "g", uses...)
				}
				s.addPod("again-1", "g", uses...)
				x.pass(3 * time.Second)
				for _, name := range names {
					if s.device(name) == "" {
						t.Errorf("claim %s was freed, though there is no room elsewhere", name)
					}
				}
				if got := toldGroup(s); !strings.Contains(got, b.says) || !strings.Contains(got, "gpu.example.com/n1/gpu-") {
					t.Errorf("the group says %q, not %q", got, b.says)
				}

				s.addNode("n2", 4, shared)
				x.pass(3 * time.Second)
				for _, pod := range []string{"again-0", "again-1"} {
					if got := s.pod(pod).Spec.NodeName; got != "n2" {
						t.Errorf("%s is on %q: %s", pod, got, toldGroup(s))
					}
				}
			})
		}
	}
}

// Pods that are evicted from a node that is cut off are not seen to end: its devices are left to
// it, and the gang goes elsewhere.
func TestAGroupLeavesANodeThatIsCutOff(t *testing.T) {
	for _, cutOff := range []bool{true, false} {
		s := newServer(t)
		s.addNode("n1", 4, 1)
		s.addClaim("c", 1)
		s.addGang("g", 2, "c")
		s.addMembers("g", 2, ofGroup("c"))
		x := start(t, s)
		x.pass(time.Second)
		s.addNode("n2", 4, 1)
		editNode(s, func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}
			if cutOff {
				n.Spec.Taints = append(n.Spec.Taints,
					corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
			}
		})
		for _, name := range []string{"g-0", "g-1"} {
			s.editPod(name, func(pod *core.Pod) { pod.DeletionTimestamp = ptr.To(metav1.Now()) })
		}
		s.addPod("again-0", "g", ofGroup("c"))
		s.addPod("again-1", "g", ofGroup("c"))
		x.pass(3 * time.Second)
		want := ""
		if cutOff {
			want = "n2"
		}
		for _, pod := range []string{"again-0", "again-1"} {
			if got := s.pod(pod).Spec.NodeName; got != want {
				t.Errorf("cut off %t: %s is on %q: %s", cutOff, pod, got, toldGroup(s))
			}
		}
	}
}

// A device is shared by two nodes, and one of them is lost: the gang does not fit on the other, and
// goes where another device is.
func TestAGroupLeavesADeviceThatLostANode(t *testing.T) {
	for _, b := range []struct {
		name string
		done func(s *server)
		says string
	}{
		{"deleted", func(s *server) { removeNode(s, "n1") }, "1 of 2 pods fit together"},
		{"cordoned", func(s *server) { editNode(s, func(n *corev1.Node) { n.Spec.Unschedulable = true }) },
			"device gpu.example.com/a/gpu-0 of node n1, which is unschedulable"},
	} {
		t.Run(b.name, func(t *testing.T) {
			s := newServer(t)
			for name, rack := range map[string]string{"n1": "a", "n2": "a", "n3": "b", "n4": "b"} {
				s.addRoom(name, 1)
				node, _ := s.objects.nodes.Get("", name)
				node = node.DeepCopy()
				node.Labels = map[string]string{"rack": rack}
				put(s, nodes, node)
			}
			s.addClass("gpu", "gpu.example.com")
			addRackDevice(s, "a")
			s.addClaim("c", 1)
			s.addGang("g", 2, "c")
			s.addMembers("g", 2, ofGroup("c"))
			x := start(t, s)
			x.pass(time.Second)
			if got := s.bound("g"); len(got) != 2 {
				t.Fatalf("bound %v: %s", got, toldGroup(s))
			}
			b.done(s)
			s.deletePod("g-0")
			s.deletePod("g-1")
			s.addPod("again-0", "g", ofGroup("c"))
			s.addPod("again-1", "g", ofGroup("c"))
			x.pass(3 * time.Second)
			if s.device("c") == "" {
				t.Error("the claim was freed, though there is no room elsewhere")
			}
			if got := toldGroup(s); !strings.Contains(got, b.says) {
				t.Errorf("the group says %q, not %q", got, b.says)
			}
			addRackDevice(s, "b")
			x.pass(3 * time.Second)
			for _, pod := range []string{"again-0", "again-1"} {
				if got := s.pod(pod).Spec.NodeName; got != "n3" && got != "n4" {
					t.Errorf("%s is on %q: %s", pod, got, toldGroup(s))
				}
			}
		})
	}
}

// addRackDevice publishes a device that the nodes of a rack share.
func addRackDevice(s *server, rack string) {
	slice := &resourcev1.ResourceSlice{ObjectMeta: s.meta("slice-" + rack)}
	slice.Namespace = ""
	slice.Spec = resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", Pool: resourcev1.ResourcePool{Name: rack, ResourceSliceCount: 1},
		Devices: []resourcev1.Device{{Name: "gpu-0"}},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "rack", Operator: corev1.NodeSelectorOpIn, Values: []string{rack}},
			},
		}}},
	}
	put(s, sliced, slice)
}

// A consumer that stands for pods keeps devices that work, and loses broken ones when no pod that
// names the claim is on a node.
func TestPodsOfAForeignConsumerLeaveDevicesThatTheyCannotUse(t *testing.T) {
	for _, broken := range []bool{true, false} {
		s := newServer(t)
		s.addNode("n1", 1, 1)
		s.addClaim("c", 1)
		s.addPod("first", "", own("c"))
		start(t, s).idle()
		claim := s.claim("c").DeepCopy()
		reservedFor(model.Consumer{APIGroup: "batch", Resource: "jobs", Name: "j", UID: "j"})(claim)
		claim.Status.Allocation.ReservedForAnyPod = ptr.To(true)
		put(s, claimed, claim)
		s.deletePod("first")
		if broken {
			removeNode(s, "n1")
		} else {
			s.addRoom("n1", 0)
		}
		s.addPod("p", "", own("c"))
		s.addPod("q", "", own("c"))
		s.addNode("n2", 4, 1)
		x := start(t, s)
		x.pass(3 * time.Second)
		want := ""
		if broken {
			want = "n2"
		}
		for _, pod := range []string{"p", "q"} {
			if got := s.pod(pod).Spec.NodeName; got != want {
				t.Errorf("broken %t: %s is on %q, told %q", broken, pod, got, s.message(pod))
			}
		}
	}
}
