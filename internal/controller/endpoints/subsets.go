package endpoints

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/endpointslice"
	endpointsliceutil "k8s.io/endpointslice/util"
	netutils "k8s.io/utils/net"
)

// capacity is the number of addresses that Endpoints have at most.
const capacity = 1000

// Endpoints, their subsets, addresses and ports are deprecated, and Kubernetes 1.37 keeps them.
type (
	legacy  = corev1.Endpoints       //nolint:staticcheck // as the comment says
	subset  = corev1.EndpointSubset  //nolint:staticcheck // as the comment says
	address = corev1.EndpointAddress //nolint:staticcheck // as the comment says
	port    = corev1.EndpointPort
)

// subsetsOf returns the Endpoints of a Service: one subset for all pods with the same ports. The
// order depends on the addresses and ports alone.
func subsetsOf(service *corev1.Service, pods []*corev1.Pod) []subset {
	byPorts := map[string]*subset{}
	for _, pod := range pods {
		if !endpointsliceutil.ShouldPodBeInEndpoints(pod, service.Spec.PublishNotReadyAddresses) {
			continue
		}
		at, ok := addressOf(service, pod)
		ports := portsOf(service, pod)
		if !ok || len(ports) == 0 && (len(service.Spec.Ports) > 0 || service.Spec.ClusterIP != corev1.ClusterIPNone) {
			continue
		}
		key := fmt.Sprint(portKeys(ports))
		if byPorts[key] == nil {
			byPorts[key] = &subset{Ports: ports}
		}
		if s := byPorts[key]; service.Spec.PublishNotReadyAddresses || endpointsliceutil.IsPodReady(pod) {
			s.Addresses = append(s.Addresses, at)
		} else {
			s.NotReadyAddresses = append(s.NotReadyAddresses, at)
		}
	}
	var out []subset
	for _, s := range byPorts {
		slices.SortFunc(s.Addresses, byIP)
		slices.SortFunc(s.NotReadyAddresses, byIP)
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b subset) int {
		return cmp.Or(slices.CompareFunc(a.Addresses, b.Addresses, byIP),
			slices.CompareFunc(a.NotReadyAddresses, b.NotReadyAddresses, byIP),
			slices.Compare(portKeys(a.Ports), portKeys(b.Ports)))
	})
	return out
}

func byIP(a, b address) int {
	uid := func(a address) string {
		if a.TargetRef == nil {
			return ""
		}
		return string(a.TargetRef.UID)
	}
	return cmp.Or(cmp.Compare(a.IP, b.IP), cmp.Compare(uid(a), uid(b)))
}

func portKeys(ports []port) []string {
	var out []string
	for _, p := range ports {
		key := fmt.Sprintf("%s/%s/%d", p.Name, p.Protocol, p.Port)
		if p.AppProtocol != nil {
			key += "/" + *p.AppProtocol
		}
		out = append(out, key)
	}
	return out
}

// addressOf returns the address of a pod that is of the Service's first family. ok is false if it
// has none.
func addressOf(service *corev1.Service, pod *corev1.Pod) (address, bool) {
	want6 := len(service.Spec.IPFamilies) > 0 && service.Spec.IPFamilies[0] == corev1.IPv6Protocol
	if len(service.Spec.IPFamilies) == 0 && service.Spec.ClusterIP != "" && service.Spec.ClusterIP != corev1.ClusterIPNone {
		want6 = netutils.IsIPv6String(service.Spec.ClusterIP)
	}
	for _, ip := range pod.Status.PodIPs {
		if netutils.IsIPv6String(ip.IP) != want6 {
			continue
		}
		node := pod.Spec.NodeName
		out := address{
			IP: ip.IP, NodeName: &node,
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		}
		if endpointsliceutil.ShouldSetHostname(pod, service) {
			out.Hostname = pod.Spec.Hostname
		}
		return out, true
	}
	return address{}, false
}

// portsOf returns the ports of the Service that the pod has.
func portsOf(service *corev1.Service, pod *corev1.Pod) []port {
	var out []port
	for i := range service.Spec.Ports {
		p := &service.Spec.Ports[i]
		number, err := endpointslice.FindPort(pod, p)
		if err != nil {
			continue // the pod has no port of that name
		}
		out = append(out, port{Name: p.Name, Port: int32(number), Protocol: p.Protocol, AppProtocol: p.AppProtocol})
	}
	slices.SortFunc(out, func(a, b port) int { return slices.Compare(portKeys([]port{a}), portKeys([]port{b})) })
	return out
}

// truncate drops addresses beyond the capacity, first those that are not ready, and reports whether
// there were any.
func truncate(subsets []subset) ([]subset, bool) {
	left, cut := capacity, false
	keep := func(list *[]address) {
		if len(*list) > left {
			*list, cut = (*list)[:left:left], true
		}
		left -= len(*list)
	}
	for i := range subsets {
		keep(&subsets[i].Addresses)
	}
	for i := range subsets {
		keep(&subsets[i].NotReadyAddresses)
	}
	return slices.DeleteFunc(subsets, func(s subset) bool {
		return len(s.Addresses)+len(s.NotReadyAddresses) == 0
	}), cut
}
