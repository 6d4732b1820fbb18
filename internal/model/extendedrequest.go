package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// ExtendedRequest is the request of one container for an extended resource. If a DeviceClass offers
// the resource, then on a node that has none of it the container gets devices of the class instead
// (KEP-5004).
type ExtendedRequest struct {
	Resource       corev1.ResourceName
	Container      string
	ContainerIndex int // index of the container, init containers first
	ResourceIndex  int // index of the resource, by name, among all resources that the container requests
	Count          int64
	Terminates     bool // an init container that terminates before the next containers start
}

// Mapping names the request of a claim that provides a container's extended resource.
type Mapping = corev1.ContainerExtendedResourceRequest

// IsOfferable reports whether a DeviceClass can offer a resource: an extended resource by
// spec.extendedResourceName, or the resource that is named after the class.
func IsOfferable(name corev1.ResourceName) bool {
	text := string(name)
	if strings.HasPrefix(text, resourcev1.ResourceDeviceClassPrefix) {
		return true
	}
	return strings.Contains(text, "/") && !strings.Contains(text, corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(text, corev1.DefaultResourceRequestsPrefix)
}

// extendedRequestsFrom returns the requests of all containers for extended resources, by resource
// and then in the order of the containers.
func extendedRequestsFrom(spec *corev1.PodSpec) []ExtendedRequest {
	var asks []ExtendedRequest
	at := 0
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
			ends := at < len(spec.InitContainers) && !sidecar
			for name, amount := range c.Resources.Requests {
				if count := AmountOf(amount, 0); count > 0 && IsOfferable(name) {
					asks = append(
						asks,
						ExtendedRequest{
							Resource:       name,
							Container:      c.Name,
							ContainerIndex: at,
							ResourceIndex:  countBefore(c.Resources.Requests, name),
							Count:          count,
							Terminates:     ends,
						},
					)
				}
			}
			at++
		}
	}
	slices.SortFunc(asks, func(a, b ExtendedRequest) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.ContainerIndex, b.ContainerIndex))
	})
	return asks
}

func countBefore(list corev1.ResourceList, name corev1.ResourceName) int {
	n := 0
	for other := range list {
		if other < name {
			n++
		}
	}
	return n
}

// Offerable returns the requested extended resources, each once, by name.
func (s *Shape) Offerable() []corev1.ResourceName {
	var names []corev1.ResourceName
	for i := range s.ExtendedRequests {
		if name := s.ExtendedRequests[i].Resource; len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

// Devices returns the requests that a claim needs instead of one extended resource, and which
// container uses which of them. Each request is named after its container and resource, as kubelets
// expect. Init containers that terminate use the devices of containers that start later, and share
// the devices that they need in addition: the largest such number.
func (s *Shape) Devices(resource corev1.ResourceName, class string) ([]Request, []Mapping) {
	var stay, end []ExtendedRequest
	for _, ask := range s.ExtendedRequests {
		switch {
		case ask.Resource != resource:
		case ask.Terminates:
			end = append(end, ask)
		default:
			stay = append(stay, ask)
		}
	}
	var requests []Request
	var mappings []Mapping
	for i := range stay {
		requests = append(requests, stay[i].request(class, stay[i].Count))
		mappings = append(mappings, stay[i].mapping(stay[i].requestName()))
	}
	beyond := make([]int64, len(end))
	most := 0
	for i := range end {
		beyond[i] = max(0, end[i].Count-devicesAfter(stay, end[i].ContainerIndex))
		if beyond[i] > beyond[most] {
			most = i
		}
	}
	for i := range end {
		left := end[i].Count
		for k := range stay {
			if stay[k].ContainerIndex > end[i].ContainerIndex && left > 0 {
				mappings = append(mappings, end[i].mapping(stay[k].requestName()))
				left -= stay[k].Count
			}
		}
		if left > 0 {
			mappings = append(mappings, end[i].mapping(end[most].requestName()))
		}
	}
	if len(end) > 0 && beyond[most] > 0 {
		requests = append(requests, end[most].request(class, beyond[most]))
	}
	return requests, mappings
}

// devicesAfter returns the number of devices of the containers that start after the container with
// index at.
func devicesAfter(stay []ExtendedRequest, at int) int64 {
	sum := int64(0)
	for i := range stay {
		if stay[i].ContainerIndex > at {
			sum = AddAmounts(sum, stay[i].Count)
		}
	}
	return sum
}

func (r *ExtendedRequest) requestName() string {
	return fmt.Sprintf("container-%d-request-%d", r.ContainerIndex, r.ResourceIndex)
}

func (r *ExtendedRequest) request(class string, count int64) Request {
	return Request{Name: r.requestName(), Extended: r.Resource, Alternatives: []Alternative{{Class: class, Count: count}}}
}

func (r *ExtendedRequest) mapping(request string) Mapping {
	return Mapping{ContainerName: r.Container, ResourceName: string(r.Resource), RequestName: request}
}
