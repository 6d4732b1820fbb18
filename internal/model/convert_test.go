package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

func requests(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    quantity.MustParse(cpu),
			corev1.ResourceMemory: quantity.MustParse(memory),
		},
	}
}

// Init containers run one after the other, before the main containers. Sidecars run with all
// containers that follow. Overhead is added.
func TestPodRequests(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := &core.Pod{}
	pod.Spec.Containers = []corev1.Container{{Resources: requests("500m", "100")}, {Resources: requests("0", "50")}}
	pod.Spec.InitContainers = []corev1.Container{
		{Resources: requests("100m", "10"), RestartPolicy: &always},
		{Resources: requests("100m", "900")},
	}
	pod.Spec.Overhead = corev1.ResourceList{corev1.ResourceMemory: quantity.MustParse("1")}
	got, err := PodFrom(pod, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Resources{corev1.ResourceCPU: 600, corev1.ResourceMemory: 911, corev1.ResourcePods: 1}
	if diff := cmp.Diff(want, got.Shape.Requests); diff != "" {
		t.Error(diff)
	}
}

// Pods have equal shapes if they differ only in fields that placement does not read. Labels are
// compared separately.
func TestShapeID(t *testing.T) {
	shape := func(change func(*core.Pod)) string {
		pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
		pod.Spec.Containers = []corev1.Container{{Image: "x", Resources: requests("1", "1")}}
		pod.Spec.NodeSelector = map[string]string{"a": "1", "b": "2"}
		change(pod)
		converted, err := PodFrom(pod, nil)
		if err != nil {
			t.Fatal(err)
		}
		return converted.Shape.ID
	}
	base := shape(func(*core.Pod) {})
	tests := []struct {
		name   string
		alike  bool
		change func(*core.Pod)
	}{
		{"name and image", true, func(p *core.Pod) { p.Name, p.Spec.Containers[0].Image = "b", "y" }},
		{"labels", true, func(p *core.Pod) { p.Labels = map[string]string{"index": "7"} }},
		{"a quantity written otherwise", true, func(p *core.Pod) { p.Spec.Containers[0].Resources = requests("1000m", "1") }},
		{"requests", false, func(p *core.Pod) { p.Spec.Containers[0].Resources = requests("2", "1") }},
		{"namespace", false, func(p *core.Pod) { p.Namespace = "other" }},
		{"selector", false, func(p *core.Pod) { p.Spec.NodeSelector["b"] = "3" }},
		{"tolerations", false, func(p *core.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: "k"}} }},
		{"host port", false, func(p *core.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} }},
		{"spread", false, func(p *core.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: "z", WhenUnsatisfiable: corev1.DoNotSchedule},
			}
		}},
	}
	for _, test := range tests {
		if alike := shape(test.change) == base; alike != test.alike {
			t.Errorf("%s: alike %v", test.name, alike)
		}
	}
}

func TestSetOfAPod(t *testing.T) {
	yes, no := true, false
	for kind, want := range map[string]types.UID{"ReplicaSet": "u", "StatefulSet": "u", "DaemonSet": "", "Job": "",
		"": ""} {
		pod := &core.Pod{}
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "other", UID: "other", Controller: &no}}
		if kind != "" {
			pod.OwnerReferences = append(pod.OwnerReferences,
				metav1.OwnerReference{Kind: kind, Name: "n", UID: "u", Controller: &yes})
		}
		if got := setOf(pod); got != want {
			t.Errorf("of a %s: %q, want %q", kind, got, want)
		}
	}
}

func TestSliceScopes(t *testing.T) {
	yes, n1, n2 := true, "n1", "n2"
	selector := &corev1.NodeSelector{}
	device := func(name string) resourcev1.Device { return resourcev1.Device{Name: name} }
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "7"}}
	slice.Spec = resourcev1.ResourceSliceSpec{
		Driver:   "d",
		Pool:     resourcev1.ResourcePool{Name: "p", Generation: 3, ResourceSliceCount: 2},
		NodeName: &n1,
	}
	slice.Spec.Devices = []resourcev1.Device{device("a")}
	got := SliceFrom(slice)
	want := &Slice{
		Name:       "s",
		Version:    7,
		Pool:       PoolID{"d", "p"},
		Generation: 3,
		PoolSlices: 2,
		Usage:      Usage{Scope: Scope{Node: "n1"}},
		Devices:    []Device{{Name: "a", Usage: &Usage{Scope: Scope{Node: "n1"}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	each := []resourcev1.Device{device("a"), device("b"), device("c"), device("d")}
	each[0].NodeName, each[1].NodeSelector, each[2].AllNodes = &n2, selector, &yes
	slice.Spec.NodeName, slice.Spec.PerDeviceNodeSelection, slice.Spec.Devices = nil, &yes, each
	var scopes []Scope
	for _, d := range SliceFrom(slice).Devices {
		scopes = append(scopes, d.Scope)
	}
	if diff := cmp.Diff([]Scope{{Node: "n2"}, {Selector: selector}, {All: true}, {}}, scopes); diff != "" {
		t.Error(diff)
	}
}

// An allocation that was written to the API is converted back to an equal one.
func TestAllocationRoundTrip(t *testing.T) {
	a := allocationOf("x")
	a.NodeSelector, a.ReservedForAnyPod = &corev1.NodeSelector{}, true
	a.Config = []resourcev1.DeviceAllocationConfiguration{{Source: resourcev1.AllocationConfigSourceClaim}}
	claim := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{resourcev1.Finalizer}}}
	claim.OwnerReferences = []metav1.OwnerReference{{UID: "other"}, {UID: "owner", Controller: &a.ReservedForAnyPod}}
	claim.Status.Allocation = a.Result()
	got := ClaimFrom(claim)
	if diff := cmp.Diff(a, got.Allocation); diff != "" {
		t.Error(diff)
	}
	if !got.Protected || got.Controller != "owner" {
		t.Errorf("protected %v, controlled by %q", got.Protected, got.Controller)
	}
}

func TestGroupFrom(t *testing.T) {
	for name, want := range map[string]bool{"PodGroupScheduled": true, "PodGroupInitiallyScheduled": true,
		"Other": false} {
		group := &scheduling.PodGroup{}
		group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 3}
		group.Status.Conditions = []metav1.Condition{{Type: name, Status: metav1.ConditionTrue}}
		if got := GroupFrom(group); got.Scheduled != want || !got.Gang || got.MinCount != 3 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
