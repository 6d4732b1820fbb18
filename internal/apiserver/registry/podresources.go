package registry

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	core "github.com/allot-dev/allot/api/core/v1"
)

// completeResources completes spec.resources of a new pod if it is partly set: first huge page
// limits and other requests from the containers, then requests from limits, and finally limits from
// the containers if all of them have one.
func completeResources(pod *core.Pod) {
	whole := pod.Spec.Resources
	if whole == nil || len(whole.Limits) == 0 && len(whole.Requests) == 0 {
		return
	}
	upstream := pod.Upstream()
	sums := resourcehelper.AggregateContainerLimits(upstream, resourcehelper.PodResourcesOptions{})
	for name, limit := range sums {
		if _, requested := whole.Requests[name]; isHugePages(name) && !requested {
			whole.Limits = addMissing(whole.Limits, name, limit)
		}
	}
	completeRequests(whole, resourcehelper.AggregateContainerRequests(upstream, resourcehelper.PodResourcesOptions{}))
	completeLimits(pod, sums)
}

// completeRequests adds requests of the whole pod from the sums over its containers, and then from
// its own limits.
func completeRequests(whole *corev1.ResourceRequirements, sums corev1.ResourceList) {
	for name, request := range sums {
		if resourcehelper.IsSupportedPodLevelResource(name) && !isHugePages(name) {
			whole.Requests = addMissing(whole.Requests, name, request)
		}
	}
	for name, limit := range whole.Limits {
		if resourcehelper.IsSupportedPodLevelResource(name) {
			whole.Requests = addMissing(whole.Requests, name, limit)
		}
	}
}

// completeLimits adds limits of the whole pod from the sums over its containers, for resources of
// which all of them have a limit. A limit is no less than the request.
func completeLimits(pod *core.Pod, sums corev1.ResourceList) {
	whole := pod.Spec.Resources
	for _, name := range slices.Collect(maps.Keys(whole.Requests)) {
		limit, ok := sums[name]
		if !ok || !resourcehelper.IsSupportedPodLevelResource(name) || !allHaveLimit(pod, name) {
			continue
		}
		if request := whole.Requests[name]; request.Cmp(limit) > 0 {
			limit = request
		}
		whole.Limits = addMissing(whole.Limits, name, limit)
	}
}

// allHaveLimit reports whether each container has a limit of a resource.
func allHaveLimit(pod *core.Pod, name corev1.ResourceName) bool {
	return !slices.ContainsFunc(
		slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers),
		func(c corev1.Container) bool {
			_, ok := c.Resources.Limits[name]
			return !ok
		},
	)
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

func addMissing(list corev1.ResourceList, name corev1.ResourceName, q apiresource.Quantity) corev1.ResourceList {
	if _, ok := list[name]; ok {
		return list
	}
	if list == nil {
		list = corev1.ResourceList{}
	}
	list[name] = q.DeepCopy()
	return list
}
