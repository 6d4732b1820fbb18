package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// allocateNodePorts sets or reserves the node ports of a Service. Ports of several protocols with
// one number share a node port.
func (a *serviceAllocator) allocateNodePorts(
	ctx context.Context, t *serviceTransaction, s *corev1.Service, held serviceValues,
) error {
	if !hasNodePorts(&s.Spec) {
		return nil
	}
	held.ports = slices.Clone(held.ports)
	path := field.NewPath("spec", "ports")
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if p.NodePort == 0 {
			continue
		}
		if err := a.takePort(ctx, t, s, p.NodePort, held); err != nil {
			return invalidService(s, field.Invalid(path.Index(i).Child("nodePort"), p.NodePort, err.Error()), err)
		}
		held.addPort(p.NodePort)
	}
	if isBalanced(&s.Spec) && !ptr.Deref(s.Spec.AllocateLoadBalancerNodePorts, true) {
		return nil
	}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if p.NodePort != 0 {
			continue
		}
		if p.NodePort = sharedNodePort(s.Spec.Ports, p); p.NodePort != 0 {
			continue
		}
		port, err := a.nextPort(ctx, t, s)
		if err != nil {
			return exhaustedError(s, "nodePort", err)
		}
		p.NodePort = port
	}
	return nil
}

// sharedNodePort returns the node port of a port with the same number and another protocol, or 0.
func sharedNodePort(ports []corev1.ServicePort, of *corev1.ServicePort) int32 {
	var shared int32
	for _, p := range ports {
		if p.Port == of.Port && p.Protocol != of.Protocol && p.NodePort != 0 {
			shared = p.NodePort
		}
	}
	for _, p := range ports {
		if p.NodePort == shared && p.Protocol == of.Protocol {
			return 0
		}
	}
	return shared
}

// allocateHealthCheckPort sets or reserves the port of the health checks of a load balancer.
func (a *serviceAllocator) allocateHealthCheckPort(
	ctx context.Context, t *serviceTransaction, s *corev1.Service, held serviceValues,
) error {
	var err error
	port := &s.Spec.HealthCheckNodePort
	if *port != 0 {
		if err = a.takePort(ctx, t, s, *port, held); err != nil {
			path := field.NewPath("spec", "healthCheckNodePort")
			return invalidService(s, field.Invalid(path, *port, err.Error()), err)
		}
		return nil
	}
	if *port, err = a.nextPort(ctx, t, s); err != nil {
		return exhaustedError(s, "HealthCheck NodePort", err)
	}
	return nil
}

func (a *serviceAllocator) takePort(
	ctx context.Context, t *serviceTransaction, s *corev1.Service, port int32, held serviceValues,
) error {
	value := strconv.Itoa(int(port))
	if slices.Contains(held.ports, value) {
		return nil
	}
	if port < firstNodePort || port > lastNodePort {
		return notInRangeError(fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d",
			firstNodePort, lastNodePort))
	}
	return t.reserve(ctx, a.ports, s, value, nil, errTakenPort)
}

// nextPort reserves a free port outside of the lower part of the range, which is for ports that
// users choose, unless there is no other.
func (a *serviceAllocator) nextPort(ctx context.Context, t *serviceTransaction, s *corev1.Service) (int32, error) {
	const lower = firstNodePort + (lastNodePort-firstNodePort+1)/32
	at := func(i uint64) (string, bool) { return strconv.FormatUint(i, 10), true }
	reserve := func(value string) error { return t.reserve(ctx, a.ports, s, value, nil, errTakenPort) }
	value, err := search(ctx, a.ports, lower, lastNodePort+1, at, reserve)
	if errors.Is(err, errFull) {
		value, err = search(ctx, a.ports, firstNodePort, lower, at, reserve)
	}
	if err != nil {
		return 0, err
	}
	port, err := strconv.ParseInt(value, 10, 32)
	return int32(port), err
}

// keepNodePorts restores the ports that a client sends without the values which were allocated, by
// their names.
func keepNodePorts(spec, old *corev1.ServiceSpec) {
	allocated := func(s *corev1.ServiceSpec) bool {
		return s.Type == corev1.ServiceTypeNodePort ||
			isBalanced(s) && ptr.Deref(s.AllocateLoadBalancerNodePorts, true)
	}
	if allocated(spec) && allocated(old) {
		was := map[string]int32{}
		for _, p := range old.Ports {
			was[p.Name] = p.NodePort
		}
		used := map[int32]bool{}
		for _, p := range spec.Ports {
			used[p.NodePort] = true
		}
		for i := range spec.Ports {
			if p := &spec.Ports[i]; p.NodePort == 0 && !used[was[p.Name]] {
				p.NodePort = was[p.Name]
			}
		}
	}
	if hasHealthCheck(spec) && hasHealthCheck(old) && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = old.HealthCheckNodePort
	}
}
