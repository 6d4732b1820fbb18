package model

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podresources "k8s.io/component-helpers/resource"

	core "github.com/allot-dev/allot/api/core/v1"
)

// PodFrom converts a pod. claims are its entries as package claims resolved them. An error means
// that the pod has a value that the API server should have rejected.
func PodFrom(pod *core.Pod, claims []PodClaim) (*Pod, error) {
	upstream := pod.Upstream()
	shape, err := shapeFrom(upstream)
	if err != nil {
		return nil, fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	p := &Pod{
		Key:           KeyOf(pod),
		UID:           pod.UID,
		Version:       versionOf(pod),
		SchedulerName: upstream.Spec.SchedulerName,
		Created:       pod.CreationTimestamp.Time,
		Started:       pod.CreationTimestamp.Time,
		NeverPreempts: upstream.Spec.PreemptionPolicy != nil && *upstream.Spec.PreemptionPolicy == corev1.PreemptNever,
		Set:           setOf(pod),
		Controlled:    metav1.GetControllerOfNoCopy(pod) != nil,
		Claims:        claims,
		Mounts:        mountsFrom(upstream),
		Shape:         shape,
		Draws:         upstream.Status.NodeAllocatableResourceClaimStatuses,
		Node:          upstream.Spec.NodeName,
		Gated:         len(upstream.Spec.SchedulingGates) > 0,
		Deleting:      pod.DeletionTimestamp != nil,
		Victim:        isVictim(upstream.Status.Conditions),
		Finished:      pod.Finished(),
	}
	if extended := upstream.Status.ExtendedResourceClaimStatus; extended != nil {
		p.Extended, p.Mapped = extended.ResourceClaimName, true
	}
	if started := upstream.Status.StartTime; started != nil {
		p.Started = started.Time
	}
	if pod.DeletionTimestamp != nil {
		p.DeletionTime = pod.DeletionTimestamp.Time
	}
	if upstream.Spec.Priority != nil {
		p.Priority = *upstream.Spec.Priority
	}
	if group := upstream.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		p.Group = *group.PodGroupName
	}
	return p, nil
}

// setOf returns the ReplicaSet, StatefulSet or ReplicationController that controls the pod.
func setOf(pod *core.Pod) types.UID {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return ""
	}
	switch owner.Kind {
	case "ReplicaSet", "StatefulSet", "ReplicationController":
		return owner.UID
	}
	return ""
}

// isVictim reports whether the conditions show that a scheduler has chosen the pod as a victim.
func isVictim(conditions []corev1.PodCondition) bool {
	return slices.ContainsFunc(conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue &&
			c.Reason == corev1.PodReasonPreemptionByScheduler
	})
}

func shapeFrom(pod *corev1.Pod) (*Shape, error) {
	shape := &Shape{
		Namespace: pod.Namespace,
		Labels:    pod.Labels,
		Requests: ResourcesFrom(
			podresources.PodRequests(boundedPod(pod), podresources.PodResourcesOptions{UseStatusResources: resized(pod)}),
		),
		NodeSelector:     pod.Spec.NodeSelector,
		Affinity:         pod.Spec.Affinity,
		Tolerations:      pod.Spec.Tolerations,
		HostPorts:        hostPorts(&pod.Spec),
		ExtendedRequests: extendedRequestsFrom(&pod.Spec),
		Images:           imagesFrom(&pod.Spec),
		DrawBudgets:      drawBudgetsFrom(pod),
		DrawLimits:       drawLimitsFrom(pod),
	}
	shape.Requests[corev1.ResourcePods] = 1
	return shape, shape.complete(pod.Spec.TopologySpreadConstraints)
}

// drawBudgetsFrom returns Shape.DrawBudgets: for each pod-level request, the amount that exceeds
// the containers' requests.
func drawBudgetsFrom(pod *corev1.Pod) Resources {
	if pod.Spec.Resources == nil || !podresources.IsPodLevelRequestsSet(pod) {
		return nil
	}
	bounded := boundedPod(pod)
	ofContainers := ResourcesFrom(podresources.AggregateContainerRequests(bounded, podresources.PodResourcesOptions{}))
	budgets := Resources{}
	for name, amount := range ResourcesFrom(bounded.Spec.Resources.Requests) {
		if podresources.IsSupportedPodLevelResource(name) {
			budgets[name] = max(0, SubAmounts(amount, ofContainers[name]))
		}
	}
	return budgets
}

// resized reports whether the status may contain other resources than the spec. During an in-place
// resize, a pod counts with the larger ones.
func resized(pod *corev1.Pod) bool { return len(pod.Status.ContainerStatuses) > 0 }

// complete sets the fields that are derived from other fields.
func (s *Shape) complete(spread []corev1.TopologySpreadConstraint) error {
	for name, amount := range s.Requests {
		if amount <= 0 {
			delete(s.Requests, name)
		}
	}
	terms, err := termsFrom(s)
	if err != nil {
		return err
	}
	if err := terms.spreads(s, spread); err != nil {
		return err
	}
	s.Terms = terms
	// Maps are encoded in the order of their keys, so that equal shapes are encoded equally.
	values := []any{s.Namespace, s.Requests, s.NodeSelector, s.Affinity, s.Tolerations, s.HostPorts, spread}
	if len(s.ExtendedRequests) > 0 {
		values = append(values, s.ExtendedRequests)
	}
	if len(s.DrawBudgets) > 0 {
		values = append(values, "draw budgets", s.DrawBudgets)
	}
	if len(s.DrawLimits) > 0 {
		values = append(values, "draw limits", s.DrawLimits)
	}
	id, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("encode what matters for placement: %w", err)
	}
	s.ID = string(id)
	return nil
}

func hostPorts(spec *corev1.PodSpec) []HostPort {
	var ports []HostPort
	add := func(containers []corev1.Container) {
		for i := range containers {
			for _, port := range containers[i].Ports {
				if port.HostPort <= 0 {
					continue
				}
				taken := HostPort{IP: port.HostIP, Protocol: port.Protocol, Port: port.HostPort}
				if taken.IP == "" {
					taken.IP = anyAddress
				}
				if taken.Protocol == "" {
					taken.Protocol = corev1.ProtocolTCP
				}
				ports = append(ports, taken)
			}
		}
	}
	add(spec.Containers)
	for i := range spec.InitContainers {
		if policy := spec.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			add(spec.InitContainers[i : i+1])
		}
	}
	return ports
}

const anyAddress = "0.0.0.0"

// Clashes reports whether two pods cannot both use these host ports on one node.
func (p HostPort) Clashes(other HostPort) bool {
	return p.Port == other.Port && p.Protocol == other.Protocol &&
		(p.IP == other.IP || p.IP == anyAddress || other.IP == anyAddress)
}
