package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// The objects have the form of those of scheduler_perf.
const (
	namespace    = "default"
	driver       = "driver.example.com"
	className    = "device"
	templateName = "one-device"
	claimEntry   = "resource"
	deviceLabel  = "example.com/devices"
	// devicesPerNode is the number of devices of a node with devices of its own.
	devicesPerNode = 10
)

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

func newNode(name string, labels map[string]string) *corev1.Node {
	capacity := resources("4", "32Gi")
	capacity[corev1.ResourcePods] = resource.MustParse("110")
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}
}

// newSlice returns a slice that is the only one of its pool.
func newSlice(name string, devices ...resourcev1.Device) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, Devices: devices,
			Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1},
		},
	}
}

// networkSlice has one device that all nodes with the label can use.
func networkSlice(i int) *resourcev1.ResourceSlice {
	slice := newSlice(fmt.Sprintf("network-%d", i), resourcev1.Device{Name: "device"})
	slice.Spec.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: deviceLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{"true"}},
		},
	}}}
	return slice
}

// nodeSlice has the devices of a node.
func nodeSlice(node int) *resourcev1.ResourceSlice {
	slice := newSlice(poolName(node))
	slice.Spec.NodeName = ptr.To(nodeName(node))
	for d := range devicesPerNode {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
			Name: deviceName(d),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"type": {StringValue: ptr.To("gpu")}, "model": {StringValue: ptr.To("b60")},
				"driverVersion": {VersionValue: ptr.To("1.2.3")}, "sriov": {BoolValue: ptr.To(true)},
				"pciRoot": {StringValue: ptr.To(fmt.Sprintf("pci0000:0%d", d%2))},
			},
			Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
				"memory": {Value: resource.MustParse("24480Mi")}, "millicores": {Value: resource.MustParse("1k")},
			},
		})
	}
	return slice
}

func poolName(node int) string { return fmt.Sprintf("pool-%d", node) }

func deviceName(i int) string { return fmt.Sprintf("device-%d", i) }

func deviceClass() *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: className},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
			CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)},
		}}},
	}
}

func claimSpec() resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
		{Name: "device", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: className}},
	}}}
}

func claimTemplate() *resourcev1.ResourceClaimTemplate {
	return &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: templateName},
		Spec:       resourcev1.ResourceClaimTemplateSpec{Spec: claimSpec()},
	}
}

func newClaim(i int) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("claim-%d", i)}, Spec: claimSpec(),
	}
}

// heldClaim is allocated on one of the nodes in turn, without consumers.
func heldClaim(i, nodes int) *resourcev1.ResourceClaim {
	node, device := i%nodes, i/nodes
	claim := newClaim(i)
	claim.Name = fmt.Sprintf("held-%d", i)
	claim.Finalizers = []string{resourcev1.Finalizer}
	claim.Status.Allocation = &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
			{Request: "device", Driver: driver, Pool: poolName(node), Device: deviceName(device)},
		}},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{
				{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{nodeName(node)}},
			},
		}}},
	}
	return claim
}

func gangOf(size int) schedulingv1beta1.PodGroupSchedulingPolicy {
	return schedulingv1beta1.PodGroupSchedulingPolicy{
		Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(size)},
	}
}

func newGroup(
	name string, policy schedulingv1beta1.PodGroupSchedulingPolicy, entries ...schedulingv1beta1.PodGroupResourceClaim,
) *schedulingv1beta1.PodGroup {
	return &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       schedulingv1beta1.PodGroupSpec{SchedulingPolicy: policy, ResourceClaims: entries},
	}
}

func newPod(name, cpu, memory string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "pause", Image: "pause", Resources: corev1.ResourceRequirements{Requests: resources(cpu, memory)},
		}}},
	}
}

// claimPod returns a pod that uses the claim of an entry. If its group has the same entry, that is the
// claim of the group.
func claimPod(i int, entry schedulingv1beta1.PodGroupResourceClaim) *corev1.Pod {
	pod := newPod(fmt.Sprintf("pod-%d", i), "1m", "1Mi")
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: claimEntry}}}
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{
		Name: claimEntry, ResourceClaimName: entry.ResourceClaimName,
		ResourceClaimTemplateName: entry.ResourceClaimTemplateName,
	}}
	return pod
}

func inGroup(pod *corev1.Pod, group *schedulingv1beta1.PodGroup) *corev1.Pod {
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group.Name}
	return pod
}
