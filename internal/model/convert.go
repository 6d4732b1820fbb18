package model

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// The types of conditions that a stored PodGroup can have: the first is of v1alpha2, the second of
// v1beta1.
const (
	conditionScheduled          = "PodGroupScheduled"
	conditionInitiallyScheduled = "PodGroupInitiallyScheduled"
)

// versionOf returns a resource version as a number. It returns 0 if the version is not a number;
// then the object is treated as newer than any other.
func versionOf(object metav1.Object) uint64 {
	text := object.GetResourceVersion()
	if text == "" {
		return 0
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// KeyOf returns the key of an API object.
func KeyOf(object metav1.Object) Key {
	return Key{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// NodeFrom converts a node.
func NodeFrom(node *corev1.Node) *Node {
	return &Node{
		Name:          node.Name,
		UID:           node.UID,
		Version:       versionOf(node),
		Labels:        node.Labels,
		Taints:        node.Spec.Taints,
		Unschedulable: node.Spec.Unschedulable,
		Allocatable:   allocatableFrom(node.Status.Allocatable),
		Images:        node.Status.Images,

		SkipsOperations: slices.Contains(node.Status.DeclaredFeatures, OptionalNodeOperations),
	}
}

// ClassFrom converts a DeviceClass.
func ClassFrom(class *resourcev1.DeviceClass) *Class {
	c := &Class{
		Name: class.Name, UID: class.UID, Version: versionOf(class), Created: class.CreationTimestamp,
		Selectors: expressions(class.Spec.Selectors),
	}
	c.Unknown = unknownInClass(&class.Spec)
	if name := class.Spec.ExtendedResourceName; name != nil {
		c.Extended = corev1.ResourceName(*name)
	}
	for i := range class.Spec.Config {
		c.Config = append(c.Config, class.Spec.Config[i].DeviceConfiguration)
	}
	return c
}

// expressions returns the CEL expressions of selectors. Other selectors are reported by
// unknownSelector.
func expressions(selectors []resourcev1.DeviceSelector) []string {
	var list []string
	for i := range selectors {
		if selectors[i].CEL != nil {
			list = append(list, selectors[i].CEL.Expression)
		}
	}
	return list
}

// SliceFrom converts a ResourceSlice.
func SliceFrom(slice *resourcev1.ResourceSlice) *Slice {
	spec := &slice.Spec
	s := &Slice{
		Name:       slice.Name,
		UID:        slice.UID,
		Version:    versionOf(slice),
		Pool:       PoolID{Driver: spec.Driver, Pool: spec.Pool.Name},
		Generation: spec.Pool.Generation,
		PoolSlices: spec.Pool.ResourceSliceCount,
		Devices:    make([]Device, 0, len(spec.Devices)),
		Usage:      Usage{SkipNodeOperations: spec.SkipNodeOperations},
		Counters:   spec.SharedCounters,
	}
	perDevice := isTrue(spec.PerDeviceNodeSelection)
	if !perDevice {
		s.Usage.Scope = scopeFrom(spec.NodeName, spec.NodeSelector, spec.AllNodes)
	}
	for i := range spec.Devices {
		device := &spec.Devices[i]
		usage := &s.Usage
		if perDevice || !hasSharedUsage(device) {
			usage = usageFrom(device, s.Usage)
		}
		if perDevice {
			usage.Scope = scopeFrom(device.NodeName, device.NodeSelector, device.AllNodes)
		}
		s.Devices = append(s.Devices,
			Device{Name: device.Name, Attributes: device.Attributes, Capacity: device.Capacity, Usage: usage})
	}
	return s
}

// hasSharedUsage reports whether the device has no usage of its own, so that it has the usage of
// its slice.
func hasSharedUsage(d *resourcev1.Device) bool {
	return len(d.Taints) == 0 && len(d.ConsumesCounters) == 0 && len(d.BindingConditions) == 0 &&
		len(d.BindingFailureConditions) == 0 && len(d.NodeAllocatableResources) == 0 &&
		!isTrue(d.BindsToNode) &&
		!isTrue(d.AllowMultipleAllocations)
}

func usageFrom(device *resourcev1.Device, usage Usage) *Usage {
	usage.BindsToNode = isTrue(device.BindsToNode)
	usage.AllowMultipleAllocations = isTrue(device.AllowMultipleAllocations)
	usage.ConsumesCounters = device.ConsumesCounters
	usage.Taints = device.Taints
	usage.BindingConditions = device.BindingConditions
	usage.BindingFailureConditions = device.BindingFailureConditions
	usage.NodeResources = device.NodeAllocatableResources
	return &usage
}

func scopeFrom(node *string, selector *corev1.NodeSelector, all *bool) Scope {
	switch {
	case isTrue(all):
		return Scope{All: true}
	case selector != nil:
		return Scope{Selector: selector}
	case node != nil:
		return Scope{Node: *node}
	}
	return Scope{}
}

func isTrue(b *bool) bool { return b != nil && *b }

// ClaimFrom converts a ResourceClaim.
func ClaimFrom(claim *resource.ResourceClaim) *Claim {
	c := &Claim{
		Key:         KeyOf(claim),
		UID:         claim.UID,
		Version:     versionOf(claim),
		Constraints: claim.Spec.Devices.Constraints,
		Config:      claim.Spec.Devices.Config,
		ReservedFor: claim.Spec.ReservedFor,
		Consumers:   claim.Status.ReservedFor,
		Deleting:    claim.DeletionTimestamp != nil,
		Unsupported: unknownInClaim(&claim.Spec.Devices),
	}
	if controller := metav1.GetControllerOf(claim); controller != nil {
		c.Controller = controller.UID
	}
	for i := range claim.Spec.Devices.Requests {
		c.Requests = append(c.Requests, requestFrom(&claim.Spec.Devices.Requests[i]))
	}
	for _, finalizer := range claim.Finalizers {
		c.Protected = c.Protected || finalizer == resourcev1.Finalizer
	}
	if result := claim.Status.Allocation; result != nil {
		c.Allocation = &Allocation{
			Devices:           result.Devices.Results,
			Config:            result.Devices.Config,
			NodeSelector:      result.NodeSelector,
			ReservedForAnyPod: isTrue(result.ReservedForAnyPod),
		}
		if c.Allocation.Awaits() {
			c.Attachment.Reports = claim.Status.Devices
			if at := result.AllocationTimestamp; at != nil {
				c.Attachment.Allocated = *at
			}
		}
	}
	return c
}

func requestFrom(request *resourcev1.DeviceRequest) Request {
	r := Request{Name: request.Name}
	if exactly := request.Exactly; exactly != nil {
		r.Alternatives = []Alternative{{
			Class:             exactly.DeviceClassName,
			Selectors:         expressions(exactly.Selectors),
			All:               exactly.AllocationMode == resourcev1.DeviceAllocationModeAll,
			Count:             exactly.Count,
			AdminAccess:       isTrue(exactly.AdminAccess),
			Tolerations:       exactly.Tolerations,
			Capacity:          exactly.Capacity,
			DerivedAttributes: exactly.DerivedAttributes,
		}}
	}
	for i := range request.FirstAvailable {
		sub := &request.FirstAvailable[i]
		r.Alternatives = append(r.Alternatives, Alternative{
			Name:              sub.Name,
			Class:             sub.DeviceClassName,
			Selectors:         expressions(sub.Selectors),
			All:               sub.AllocationMode == resourcev1.DeviceAllocationModeAll,
			Count:             sub.Count,
			Tolerations:       sub.Tolerations,
			Capacity:          sub.Capacity,
			DerivedAttributes: sub.DerivedAttributes,
		})
	}
	return r
}

// ForExtended returns the ResourceClaim to create in place of extended resources. Its first
// consumer is the pod, and it has the finalizer from the start.
func (c *Claim) ForExtended(pod Consumer) *resource.ResourceClaim {
	yes := true
	claim := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace:    c.Key.Namespace,
		Name:         c.Key.Name,
		GenerateName: c.Key.Name[:strings.LastIndex(c.Key.Name, "-")+1],
		Annotations:  map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"},
		Finalizers:   []string{resourcev1.Finalizer},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &yes},
		},
	}}
	for i := range c.Requests {
		request := &c.Requests[i]
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, resourcev1.DeviceRequest{
			Name: request.Name,
			Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: request.Alternatives[0].Class, AllocationMode: resourcev1.DeviceAllocationModeExactCount,
				Count: request.Alternatives[0].Count,
			},
		})
	}
	return claim
}

// Result returns the allocation for the API, without the timestamp.
func (a *Allocation) Result() *resource.AllocationResult {
	result := &resource.AllocationResult{}
	result.Devices.Results = a.Devices
	result.Devices.Config = a.Config
	result.NodeSelector = a.NodeSelector
	if a.ReservedForAnyPod {
		yes := true
		result.ReservedForAnyPod = &yes
	}
	return result
}

// GroupFrom converts a PodGroup.
func GroupFrom(group *scheduling.PodGroup) *Group {
	g := &Group{
		Key:      KeyOf(group),
		UID:      group.UID,
		Version:  versionOf(group),
		Created:  group.CreationTimestamp.Time,
		Priority: group.Spec.Priority,
		Deleting: group.DeletionTimestamp != nil,
	}
	g.Scheduled = meta.IsStatusConditionTrue(group.Status.Conditions, conditionInitiallyScheduled) ||
		meta.IsStatusConditionTrue(group.Status.Conditions, conditionScheduled)
	if c := meta.FindStatusCondition(group.Status.Conditions, conditionInitiallyScheduled); c != nil {
		g.Completed = c.Status == metav1.ConditionTrue && c.ObservedGeneration == group.Generation
	}
	g.setPolicies(&group.Spec)
	if parent := group.Spec.ParentCompositePodGroupName; parent != nil {
		g.Parent = *parent
	}
	for i := range group.Spec.ResourceClaims {
		if name := group.Spec.ResourceClaims[i].ResourceClaimName; name != nil {
			g.Claims = append(g.Claims, *name)
		}
	}
	for _, status := range group.Status.ResourceClaimStatuses {
		if status.ResourceClaimName != nil {
			g.Claims = append(g.Claims, *status.ResourceClaimName)
		}
	}
	return g
}

// setPolicies sets how the group is scheduled, constrained, disrupted and how it preempts. A policy
// without any known field is one of a later release.
func (g *Group) setPolicies(spec *scheduling.PodGroupSpec) {
	if gang := spec.SchedulingPolicy.Gang; gang != nil {
		g.Gang, g.MinCount = true, int(gang.MinCount)
	} else if spec.SchedulingPolicy.Basic == nil {
		g.Unknown = "spec.schedulingPolicy"
	}
	if mode := spec.DisruptionMode; mode != nil {
		if g.Whole = mode.All != nil; mode.All == nil && mode.Single == nil {
			g.Unknown = "spec.disruptionMode"
		}
	}
	if policy := spec.PreemptionPolicy; policy != nil {
		never := *policy == schedulingv1beta1.PreemptNever
		g.NeverPreempts = &never
	}
	if constraints := spec.SchedulingConstraints; constraints != nil && len(constraints.Topology) > 0 {
		g.Topology = constraints.Topology[0].Key // the API permits one
	}
}
