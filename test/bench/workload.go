package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/fleet"
)

const (
	namespace = "default"
	class     = "device"
	template  = "one-device"
)

// workload is a fleet and the objects to run on it.
type workload struct {
	name, title string
	fleet       fleet.Fleet
	groups      []*scheduling.PodGroup
	pods        []*core.Pod
}

func workloads() []workload {
	return []workload{sharedClaims(), claimPerPod(), gangs(), smallGangs(), training()}
}

func sharedClaims() workload {
	w := workload{name: "a", title: "100 groups × 50 pods sharing a claim, 50 nodes", fleet: fleet.Simple(50, 0)}
	// The devices are network-attached, so that the pods of a group need not be on one node.
	w.fleet.Network = []fleet.NetworkPool{
		{Name: "fabric", Devices: []fleet.DeviceSet{{Driver: fleet.DefaultDriver, Name: "channel-{index}", Count: 100}}},
	}
	for g := range 100 {
		group := newGroup(fmt.Sprintf("group-%d", g),
			schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}})
		group.Spec.ResourceClaims = []scheduling.PodGroupResourceClaim{
			{PodGroupResourceClaim: schedulingv1beta1.PodGroupResourceClaim{
				Name: "shared", ResourceClaimTemplateName: ptr.To(template),
			}},
		}
		w.groups = append(w.groups, group)
	}
	// Pods are assigned to the groups round robin, as if created by several controllers
	// concurrently.
	for i := range 5000 {
		group := w.groups[i%len(w.groups)]
		pod := newPod(fmt.Sprintf("pod-%d", i), group.Name)
		pod.Spec.ResourceClaims = []core.PodResourceClaim{{
			PodResourceClaim: corev1.PodResourceClaim{Name: "device"}, PodGroupResourceClaim: ptr.To("shared"),
		}}
		w.pods = append(w.pods, pod)
	}
	return w
}

func claimPerPod() workload {
	w := workload{name: "b", title: "2,500 pods with a claim each, 500 nodes × 10 devices", fleet: fleet.Simple(500, 10)}
	for i := range 2500 {
		pod := newPod(fmt.Sprintf("pod-%d", i), "")
		pod.Spec.ResourceClaims = []core.PodResourceClaim{{
			PodResourceClaim: corev1.PodResourceClaim{Name: "device", ResourceClaimTemplateName: ptr.To(template)},
		}}
		w.pods = append(w.pods, pod)
	}
	return w
}

func gangs() workload {
	w := workload{name: "c", title: "9 gangs × 1,000 pods, 5,000 nodes", fleet: fleet.Simple(5000, 0)}
	w.addGangs(9, 1000)
	return w
}

func smallGangs() workload {
	w := workload{name: "d", title: "1,000 gangs × 3 pods, 5,000 nodes", fleet: fleet.Simple(5000, 0)}
	w.addGangs(1000, 3)
	return w
}

// addGangs adds gangs of one size, all of whose pods are required.
func (w *workload) addGangs(count, size int) {
	for g := range count {
		group := newGroup(fmt.Sprintf("gang-%d", g),
			schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(size)}})
		w.groups = append(w.groups, group)
		for i := range size {
			w.pods = append(w.pods, newPod(fmt.Sprintf("%s-%d", group.Name, i), group.Name))
		}
	}
}

// training returns KEP-5194's training job: four pods on each host share one multi-host device.
func training() workload {
	const hosts, podsPerHost = 2304, 4
	w := workload{
		name: "e", title: "1 gang × 9,216 pods sharing one device of 2,304 nodes", fleet: fleet.Simple(hosts, 0),
	}
	w.fleet.Network = []fleet.NetworkPool{
		{Name: "fabric", Devices: []fleet.DeviceSet{{Driver: fleet.DefaultDriver, Name: "slice-{index}", Count: 1}}},
	}
	group := newGroup(
		"training",
		schedulingv1beta1.PodGroupSchedulingPolicy{
			Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: hosts * podsPerHost},
		},
	)
	group.Spec.ResourceClaims = []scheduling.PodGroupResourceClaim{
		{PodGroupResourceClaim: schedulingv1beta1.PodGroupResourceClaim{
			Name: "shared", ResourceClaimTemplateName: ptr.To(template),
		}},
	}
	w.groups = append(w.groups, group)
	for i := range hosts * podsPerHost {
		pod := newPod(fmt.Sprintf("pod-%d", i), group.Name)
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU: quantity.MustParse("8"),
		} // a quarter of a host
		pod.Spec.ResourceClaims = []core.PodResourceClaim{{
			PodResourceClaim: corev1.PodResourceClaim{Name: "device"}, PodGroupResourceClaim: ptr.To("shared"),
		}}
		w.pods = append(w.pods, pod)
	}
	return w
}

func newGroup(name string, policy schedulingv1beta1.PodGroupSchedulingPolicy) *scheduling.PodGroup {
	return &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       scheduling.PodGroupSpec{SchedulingPolicy: policy},
	}
}

func newPod(name, group string) *core.Pod {
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "pause"}}
	if group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To(group)}
	}
	return pod
}

func newClass() *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
			CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", fleet.DefaultDriver)},
		}}},
	}
}

func newTemplate() *resource.ResourceClaimTemplate {
	t := &resource.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: template, Namespace: namespace}}
	t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "device", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class}},
	}
	return t
}
