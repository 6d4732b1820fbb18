package registry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	netutils "k8s.io/utils/net"
)

// firstNodePort and lastNodePort are the range of node ports.
const firstNodePort, lastNodePort = 30000, 32767

var (
	errFull      = errors.New("range is full")
	errTakenIP   = errors.New("provided IP is already allocated")
	errTakenPort = errors.New("provided port is already allocated")
)

// serviceAllocator chooses cluster IPs and node ports for Services, and reserves them.
type serviceAllocator struct {
	addresses netip.Prefix
	ips       *reservations // by address
	ports     *reservations // by number
}

func newServiceAllocator(cfg Config, lookup *Lookup) (*serviceAllocator, error) {
	ports, err := nodePortStore(cfg)
	if err != nil {
		return nil, err
	}
	return &serviceAllocator{
		addresses: cfg.ServiceRange,
		ips: &reservations{
			store: func() *genericregistry.Store { return lookup.stores[ipAddressResource] },
			holds: serviceHolds(lookup, func(v serviceValues) []string { return v.ips }),
			now:   time.Now,
		},
		ports: &reservations{
			store: func() *genericregistry.Store { return ports },
			holds: serviceHolds(lookup, func(v serviceValues) []string { return v.ports }),
			now:   time.Now,
		},
	}, nil
}

// family returns the family of all cluster IPs.
func (a *serviceAllocator) family() corev1.IPFamily {
	if a.addresses.Addr().Is6() {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// FirstServiceIP returns the first address of a range, which is that of the Service kubernetes.
func FirstServiceIP(in netip.Prefix) netip.Addr { return in.Masked().Addr().Next() }

// allocate sets the addresses and ports that a Service needs and does not have, and reserves those
// that it does not hold yet; old is nil for a new Service. The result of the transaction decides
// about the reservations.
func (a *serviceAllocator) allocate(ctx context.Context, t *serviceTransaction, s, old *corev1.Service) error {
	var before *corev1.ServiceSpec
	if old != nil {
		before = &old.Spec
	}
	if errs := setFamilies(&s.Spec, before, a.family()); len(errs) > 0 {
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), s.Name, errs)
	}
	held := valuesOf(old)
	for _, step := range []func(context.Context, *serviceTransaction, *corev1.Service, serviceValues) error{
		a.allocateIP, a.allocateNodePorts,
	} {
		if err := step(ctx, t, s, held); err != nil {
			return err
		}
	}
	if hasHealthCheck(&s.Spec) && (before == nil || !hasHealthCheck(before)) {
		return a.allocateHealthCheckPort(ctx, t, s, held)
	}
	return nil
}

// allocateIP sets or reserves the cluster IP.
func (a *serviceAllocator) allocateIP(
	ctx context.Context, t *serviceTransaction, s *corev1.Service, held serviceValues,
) error {
	spec := &s.Spec
	if spec.Type == corev1.ServiceTypeExternalName || isHeadless(spec) {
		return nil
	}
	path := field.NewPath("spec", "clusterIPs")
	if len(spec.ClusterIPs) == 0 {
		ip, err := a.nextIP(ctx, t, s)
		if err != nil {
			return exhaustedError(s, "serviceIP", err)
		}
		spec.ClusterIP, spec.ClusterIPs = ip, []string{ip}
		return nil
	}
	for _, ip := range spec.ClusterIPs {
		value := canonical(ip)
		if slices.Contains(held.ips, value) {
			continue
		}
		if err := a.takeIP(ctx, t, s, value); err != nil {
			return invalidService(s, field.Invalid(path, spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %s: %v", ip, err)),
				err)
		}
	}
	return nil
}

func (a *serviceAllocator) takeIP(ctx context.Context, t *serviceTransaction, s *corev1.Service, value string) error {
	ip, err := netip.ParseAddr(value)
	if err != nil || !a.usable(ip) {
		return notInRangeError(fmt.Sprintf("the provided IP (%s) is not in the valid range. The range of valid IPs is %s",
			value, a.addresses))
	}
	return t.reserve(ctx, a.ips, s, value, a.labels(), errTakenIP)
}

// usable reports whether an address can be a cluster IP: those of the network and its broadcasts
// cannot.
func (a *serviceAllocator) usable(ip netip.Addr) bool {
	return a.addresses.Contains(ip) && ip != a.addresses.Masked().Addr() &&
		(ip.Is6() || a.addresses.Contains(ip.Next()))
}

func (a *serviceAllocator) labels() map[string]string {
	return map[string]string{
		networkingv1.LabelIPAddressFamily: string(a.family()),
		networkingv1.LabelManagedBy:       "ipallocator.k8s.io",
	}
}

// nextIP reserves a free address outside of the lower part of the range, which is for addresses
// that users choose, unless there is no other.
func (a *serviceAllocator) nextIP(ctx context.Context, t *serviceTransaction, s *corev1.Service) (string, error) {
	size := uint64(1) << min(a.addresses.Addr().BitLen()-a.addresses.Bits(), 32)
	lower := min(max(16, size/16), 256)
	if size < 2*lower {
		lower = 1
	}
	at := func(i uint64) (string, bool) {
		ip := addressAt(a.addresses, i)
		return ip.String(), a.usable(ip)
	}
	reserve := func(value string) error { return t.reserve(ctx, a.ips, s, value, a.labels(), errTakenIP) }
	ip, err := search(ctx, a.ips, lower, size, at, reserve)
	if errors.Is(err, errFull) {
		return search(ctx, a.ips, 1, lower, at, reserve)
	}
	return ip, err
}

// addressAt returns the address with this index in a range.
func addressAt(in netip.Prefix, index uint64) netip.Addr {
	bytes := in.Masked().Addr().AsSlice()
	for i := len(bytes) - 1; index > 0; i-- {
		sum := uint64(bytes[i]) + index&0xff
		bytes[i], index = byte(sum), index>>8+sum>>8
	}
	ip, _ := netip.AddrFromSlice(bytes)
	return ip
}

// guesses is the number of values that are tried at random before all reservations are read.
const guesses = 8

// search reserves a free one of the values from first to before end: at random, and in turn where
// few are free.
func search(
	ctx context.Context, of *reservations, first, end uint64, at func(uint64) (string, bool), reserve func(string) error,
) (string, error) {
	if end <= first {
		return "", errFull
	}
	for range guesses {
		value, ok := at(first + rand.Uint64N(end-first))
		if !ok {
			continue
		}
		if err := reserve(value); !errors.Is(err, errTakenIP) && !errors.Is(err, errTakenPort) {
			return value, err
		}
	}
	list, err := of.reserved(ctx)
	if err != nil {
		return "", err
	}
	reserved := map[string]bool{}
	for i := range list {
		reserved[list[i].Name] = true
	}
	for i := first; i < end; i++ {
		value, ok := at(i)
		if !ok || reserved[value] {
			continue
		}
		if err := reserve(value); !errors.Is(err, errTakenIP) && !errors.Is(err, errTakenPort) {
			return value, err
		}
	}
	return "", errFull
}

// notInRangeError is the message about a value that is not in the range of the cluster.
type notInRangeError string

func (e notInRangeError) Error() string { return string(e) }

// invalidService returns the error for a value that cannot be reserved. An error of the storage is
// returned as it is.
func invalidService(s *corev1.Service, detail *field.Error, err error) error {
	var outside notInRangeError
	if !errors.Is(err, errTakenIP) && !errors.Is(err, errTakenPort) && !errors.As(err, &outside) {
		return err
	}
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), s.Name,
		field.ErrorList{detail})
}

// exhaustedError returns the error for a Service that finds no free value. An error of the storage is
// returned as it is. Kubernetes 1.37 answers 500, although the server works.
func exhaustedError(s *corev1.Service, what string, err error) error {
	if !errors.Is(err, errFull) {
		return err
	}
	err = fmt.Errorf("failed to allocate a %s: %w", what, err)
	return apierrors.NewForbidden(corev1.Resource("services"), s.Name, err)
}

// serviceValues are the addresses and ports that a Service holds.
type serviceValues struct {
	ips   []string
	ports []string
}

// valuesOf returns the values of a Service, or none if it is nil.
func valuesOf(s *corev1.Service) serviceValues {
	var out serviceValues
	if s == nil {
		return out
	}
	if s.Spec.Type != corev1.ServiceTypeExternalName && !isHeadless(&s.Spec) {
		for _, ip := range s.Spec.ClusterIPs {
			out.ips = append(out.ips, canonical(ip))
		}
	}
	for _, p := range s.Spec.Ports {
		out.addPort(p.NodePort)
	}
	out.addPort(s.Spec.HealthCheckNodePort)
	return out
}

func (v *serviceValues) addPort(port int32) {
	if value := strconv.Itoa(int(port)); port != 0 && !slices.Contains(v.ports, value) {
		v.ports = append(v.ports, value)
	}
}

// canonical returns the usual form of an address.
func canonical(ip string) string {
	if parsed := netutils.ParseIPSloppy(ip); parsed != nil {
		return parsed.String()
	}
	return ip
}

// serviceHolds returns a function that reports whether a stored Service has a value.
func serviceHolds(lookup *Lookup, has func(serviceValues) []string) func(
	context.Context, types.NamespacedName, types.UID, string,
) (bool, error) {
	return func(ctx context.Context, name types.NamespacedName, uid types.UID, value string) (bool, error) {
		obj, err := lookup.get(ctx, corev1.Resource("services"), name.Namespace, name.Name, true)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		s := obj.(*corev1.Service)
		return s.UID == uid && slices.Contains(has(valuesOf(s)), value), nil
	}
}
