package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// LimitRange gives containers the maximum as default limit, the default limit as default request,
// and the minimum as default request if there is no limit. It rounds quantities.
func LimitRange(l *corev1.LimitRange) {
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		if item.Type == corev1.LimitTypeContainer {
			item.Default = withMissing(item.Default, item.Max)
			item.DefaultRequest = withMissing(withMissing(item.DefaultRequest, item.Default), item.Min)
		}
		for _, list := range []corev1.ResourceList{
			item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio,
		} {
			quantities(list)
		}
	}
}

// withMissing returns the list, which is never nil, with the amounts of another one for resources
// that it lacks.
func withMissing(list, other corev1.ResourceList) corev1.ResourceList {
	if list == nil {
		list = corev1.ResourceList{}
	}
	for name, q := range other {
		if _, ok := list[name]; !ok {
			list[name] = q.DeepCopy()
		}
	}
	return list
}
