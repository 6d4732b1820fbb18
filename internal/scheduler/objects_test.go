package scheduler

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

func (s *server) meta(name string) metav1.ObjectMeta {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	return metav1.ObjectMeta{
		Namespace: ns, Name: name, UID: types.UID(fmt.Sprintf("%s-%d", name, s.version)),
		CreationTimestamp: metav1.NewTime(time.Unix(int64(s.version), 0)),
	}
}

// addNode makes a node with room for so many pods, and so many devices.
func (s *server) addNode(name string, room int64, devices int) {
	s.addRoom(name, room)
	slice := &resourcev1.ResourceSlice{ObjectMeta: s.meta("slice-" + name)}
	slice.Namespace = ""
	slice.Spec = resourcev1.ResourceSliceSpec{
		Driver:   "gpu.example.com",
		NodeName: &name,
		Pool:     resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1},
	}
	for i := range devices {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	put(s, sliced, slice)
	s.addClass("gpu", "gpu.example.com")
}

// addClass makes a class of the driver's devices, once.
func (s *server) addClass(name, driver string) {
	if _, ok := s.objects.classes.Get("", name); ok {
		return
	}
	class := &resourcev1.DeviceClass{ObjectMeta: s.meta(name)}
	class.Namespace = ""
	class.Spec.Selectors = []resourcev1.DeviceSelector{
		{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)}},
	}
	put(s, classes, class)
}

// addFabricOf makes devices of a class of their own that can be used from every node.
func (s *server) addFabricOf(class string, devices int) {
	s.addClass(class, class+".example.com")
	slice := &resourcev1.ResourceSlice{ObjectMeta: s.meta(class)}
	slice.Namespace = ""
	slice.Spec = resourcev1.ResourceSliceSpec{
		Driver: class + ".example.com", AllNodes: ptr.To(true),
		Pool: resourcev1.ResourcePool{Name: "fabric", ResourceSliceCount: 1},
	}
	for i := range devices {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("channel-%d", i)})
	}
	put(s, sliced, slice)
}

func (s *server) addRoom(name string, room int64) {
	node := &corev1.Node{ObjectMeta: s.meta(name)}
	node.Namespace = ""
	if have, ok := s.objects.nodes.Get("", name); ok {
		node.UID = have.UID
	}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:  *apiresource.NewQuantity(room, apiresource.DecimalSI),
		corev1.ResourcePods: apiresource.MustParse("2000"),
	}
	put(s, nodes, node)
}

// addClaim makes a claim for so many devices.
func (s *server) addClaim(name string, count int64) { s.addClaimOf("gpu", name, count) }

func (s *server) addClaimOf(class, name string, count int64) {
	claim := &resource.ResourceClaim{ObjectMeta: s.meta(name)}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class,
			AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count},
	}}
	put(s, claimed, claim)
}

// addGang makes a PodGroup whose entries are named like the claims that they mean.
func (s *server) addGang(name string, minCount int32, claimNames ...string) {
	group := &scheduling.PodGroup{ObjectMeta: s.meta(name)}
	if minCount > 0 {
		group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}
	} else {
		group.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	}
	for _, claim := range claimNames {
		entry := scheduling.PodGroupResourceClaim{}
		entry.Name, entry.ResourceClaimName = claim, ptr.To(claim)
		group.Spec.ResourceClaims = append(group.Spec.ResourceClaims, entry)
	}
	put(s, podGroups, group)
}

// addPod makes a pod that wants one cpu, of the group, if any, with claims of the group and of its
// own.
func (s *server) addPod(name, group string, edits ...func(*core.Pod)) {
	pod := &core.Pod{ObjectMeta: s.meta(name)}
	pod.Spec.SchedulerName = corev1.DefaultSchedulerName
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse("1")},
	}}}
	pod.Status.Phase = corev1.PodPending
	if group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	for _, edit := range edits {
		edit(pod)
	}
	put(s, pods, pod)
}

func ofGroup(claim string) func(*core.Pod) {
	return func(pod *core.Pod) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, core.PodResourceClaim{
			PodResourceClaim: corev1.PodResourceClaim{Name: claim}, PodGroupResourceClaim: ptr.To(claim),
		})
	}
}

func own(claim string) func(*core.Pod) {
	return func(pod *core.Pod) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, core.PodResourceClaim{
			PodResourceClaim: corev1.PodResourceClaim{Name: claim, ResourceClaimName: ptr.To(claim)},
		})
	}
}

func priority(n int32) func(*core.Pod) { return func(pod *core.Pod) { pod.Spec.Priority = &n } }

// patient pods have nobody leave for them.
func patient(pod *core.Pod) { pod.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever) }

// addMembers makes pods 0 to n-1 of a group.
func (s *server) addMembers(group string, n int, edits ...func(*core.Pod)) {
	for i := range n {
		s.addPod(fmt.Sprintf("%s-%d", group, i), group, edits...)
	}
}

func (s *server) editPod(name string, edit func(*core.Pod)) {
	pod := s.pod(name).DeepCopy()
	edit(pod)
	put(s, pods, pod)
}
