package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	resourcehelper "k8s.io/component-helpers/resource"

	core "github.com/allot-dev/allot/api/core/v1"
)

// limitRangerAnnotation tells which requests and limits of a pod its author did not write.
const limitRangerAnnotation = "kubernetes.io/limit-ranger"

// limitDefaults gives the containers of a new pod the requests and limits that the LimitRanges of
// its namespace have for those that name none.
func (c *Chain) limitDefaults(ctx context.Context, pod *core.Pod, namespace string) error {
	ranges, err := c.reader.LimitRanges(ctx, namespace)
	if err != nil {
		return fmt.Errorf("limit ranges: %w", err)
	}
	for i := range ranges {
		var limits, requests corev1.ResourceList
		for _, item := range ranges[i].Spec.Limits {
			if item.Type == corev1.LimitTypeContainer {
				limits, requests = copyResources(limits, item.Default), copyResources(requests, item.DefaultRequest)
			}
		}
		var set []string
		for j := range pod.Spec.Containers {
			set = append(set, setResources(&pod.Spec.Containers[j], "container", requests, limits)...)
		}
		for j := range pod.Spec.InitContainers {
			set = append(set, setResources(&pod.Spec.InitContainers[j], "init container", requests, limits)...)
		}
		if len(set) > 0 {
			if pod.Annotations == nil {
				pod.Annotations = map[string]string{}
			}
			pod.Annotations[limitRangerAnnotation] = "LimitRanger plugin set: " + strings.Join(set, "; ")
		}
	}
	return nil
}

func copyResources(list, other corev1.ResourceList) corev1.ResourceList {
	if list == nil {
		list = corev1.ResourceList{}
	}
	maps.Copy(list, other)
	return list
}

// setResources adds missing requests and limits to a container, and returns what it has set in
// words.
func setResources(c *corev1.Container, kind string, requests, limits corev1.ResourceList) []string {
	var out []string
	for _, part := range []struct {
		name     string
		list     *corev1.ResourceList
		defaults corev1.ResourceList
	}{{"request", &c.Resources.Requests, requests}, {"limit", &c.Resources.Limits, limits}} {
		var set []string
		for name, q := range part.defaults {
			if _, ok := (*part.list)[name]; ok {
				continue
			}
			if *part.list == nil {
				*part.list = corev1.ResourceList{}
			}
			(*part.list)[name] = q.DeepCopy()
			set = append(set, string(name))
		}
		if len(set) > 0 {
			slices.Sort(set)
			out = append(out, fmt.Sprintf("%s %s for %s %s", strings.Join(set, ", "), part.name, kind, c.Name))
		}
	}
	return out
}

// podWithinLimits refuses a new pod that a LimitRange of its namespace does not allow.
func (c *Chain) podWithinLimits(ctx context.Context, a admission.Attributes, pod *core.Pod) error {
	return c.withinLimits(ctx, a, func(item *corev1.LimitRangeItem) []error {
		var errs []error
		switch item.Type {
		case corev1.LimitTypeContainer:
			for _, container := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
				errs = append(errs, limitFaults(item, container.Resources.Requests, container.Resources.Limits)...)
			}
		case corev1.LimitTypePod:
			upstream := pod.Upstream()
			requests := resourcehelper.PodRequests(upstream, resourcehelper.PodResourcesOptions{})
			limits := resourcehelper.PodLimits(upstream, resourcehelper.PodResourcesOptions{})
			errs = limitFaults(item, requests, limits)
		}
		return errs
	})
}

// volumeClaimWithinLimits refuses a PersistentVolumeClaim that requests less or more storage than a
// LimitRange allows.
func (c *Chain) volumeClaimWithinLimits(
	ctx context.Context, a admission.Attributes, claim *corev1.PersistentVolumeClaim,
) error {
	if old, ok := a.GetOldObject().(*corev1.PersistentVolumeClaim); ok && old != nil && old.DeletionTimestamp != nil {
		return nil
	}
	return c.withinLimits(ctx, a, func(item *corev1.LimitRangeItem) []error {
		if item.Type != corev1.LimitTypePersistentVolumeClaim {
			return nil
		}
		var errs []error
		for _, name := range slices.Sorted(maps.Keys(item.Min)) {
			errs = append(errs, belowMinimum(item, name, claim.Spec.Resources.Requests, nil))
		}
		for _, name := range slices.Sorted(maps.Keys(item.Max)) {
			errs = append(errs, requestAboveMaximum(item, name, claim.Spec.Resources.Requests))
		}
		return errs
	})
}

func (c *Chain) withinLimits(
	ctx context.Context, a admission.Attributes, faults func(item *corev1.LimitRangeItem) []error,
) error {
	ranges, err := c.reader.LimitRanges(ctx, a.GetNamespace())
	if err != nil {
		return fmt.Errorf("limit ranges: %w", err)
	}
	for i := range ranges {
		var errs []error
		for j := range ranges[i].Spec.Limits {
			errs = append(errs, faults(&ranges[i].Spec.Limits[j])...)
		}
		if err := utilerrors.NewAggregate(errs); err != nil {
			return admission.NewForbidden(a, err)
		}
	}
	return nil
}

// limitFaults returns how requests and limits break an item, and nils.
func limitFaults(item *corev1.LimitRangeItem, requests, limits corev1.ResourceList) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(item.Min)) {
		errs = append(errs, belowMinimum(item, name, requests, limits))
	}
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		errs = append(errs, aboveMaximum(item, name, requests, limits))
	}
	for _, name := range slices.Sorted(maps.Keys(item.MaxLimitRequestRatio)) {
		errs = append(errs, aboveRatio(item, name, requests, limits))
	}
	return errs
}

func belowMinimum(item *corev1.LimitRangeItem, name corev1.ResourceName, requests, limits corev1.ResourceList) error {
	least := item.Min[name]
	text := fmt.Sprintf("minimum %s usage per %s is %s", name, item.Type, least.String())
	request, requested := requests[name]
	limit, limited := limits[name]
	switch {
	case !requested:
		return fmt.Errorf("%s.  No request is specified", text)
	case request.Cmp(least) < 0:
		return fmt.Errorf("%s, but request is %s", text, request.String())
	case limited && limit.Cmp(least) < 0:
		return fmt.Errorf("%s, but limit is %s", text, limit.String())
	}
	return nil
}

func aboveMaximum(item *corev1.LimitRangeItem, name corev1.ResourceName, requests, limits corev1.ResourceList) error {
	most := item.Max[name]
	text := fmt.Sprintf("maximum %s usage per %s is %s", name, item.Type, most.String())
	limit, limited := limits[name]
	switch {
	case !limited:
		return fmt.Errorf("%s.  No limit is specified", text)
	case limit.Cmp(most) > 0:
		return fmt.Errorf("%s, but limit is %s", text, limit.String())
	}
	if request, ok := requests[name]; ok && request.Cmp(most) > 0 {
		return fmt.Errorf("%s, but request is %s", text, request.String())
	}
	return nil
}

// requestAboveMaximum is aboveMaximum for what has requests only.
func requestAboveMaximum(item *corev1.LimitRangeItem, name corev1.ResourceName, requests corev1.ResourceList) error {
	most := item.Max[name]
	text := fmt.Sprintf("maximum %s usage per %s is %s", name, item.Type, most.String())
	request, ok := requests[name]
	switch {
	case !ok:
		return fmt.Errorf("%s.  No request is specified", text)
	case request.Cmp(most) > 0:
		return fmt.Errorf("%s, but request is %s", text, request.String())
	}
	return nil
}

func aboveRatio(item *corev1.LimitRangeItem, name corev1.ResourceName, requests, limits corev1.ResourceList) error {
	most := item.MaxLimitRequestRatio[name]
	text := fmt.Sprintf("%s max limit to request ratio per %s is %s", name, item.Type, most.String())
	request, limit := amount(requests, name), amount(limits, name)
	switch {
	case request == 0:
		return fmt.Errorf("%s, but no request is specified or request is 0", text)
	case limit == 0:
		return fmt.Errorf("%s, but no limit is specified or limit is 0", text)
	}
	if ratio := limit / request; ratio > most.AsApproximateFloat64() {
		return fmt.Errorf("%s, but provided ratio is %f", text, ratio)
	}
	return nil
}

// amount returns the amount of a resource, 0 if the list does not have it.
func amount(list corev1.ResourceList, name corev1.ResourceName) float64 {
	q := list[name]
	return q.AsApproximateFloat64()
}
