package endpointmirror

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	endpointsliceutil "k8s.io/endpointslice/util"
	netutils "k8s.io/utils/net"
)

// legacy is the kind whose objects are copied. It is deprecated, and Kubernetes 1.37 keeps it.
type (
	legacy        = corev1.Endpoints    //nolint:staticcheck // as the comment says
	legacyPort    = corev1.EndpointPort //nolint:staticcheck // as the comment says
	legacyAddress = corev1.EndpointAddress
)

const (
	// controllerName is the value of the label that EndpointSlices of this controller have.
	controllerName = "endpointslicemirroring-controller.k8s.io"
	// maxAddresses is the number of addresses of one set of ports that are copied.
	maxAddresses = 1000
)

var kind = corev1.SchemeGroupVersion.WithKind("Endpoints")

// Gathered is the input of Decide. Endpoints and Service are nil if they do not exist.
type Gathered struct {
	Endpoints *legacy
	Service   *corev1.Service
	Slices    []*discoveryv1.EndpointSlice // of this controller, for this Service, by name
}

// Plan is the set of changes that one pass makes.
type Plan struct {
	Create, Update, Delete []*discoveryv1.EndpointSlice
	Invalid                int // addresses that are not copied because they are not valid
	Skipped                int // addresses that are not copied because there are too many
}

// Decide returns the changes that make the slices a copy of the Endpoints.
func Decide(g Gathered) Plan {
	if !isCopied(g.Endpoints, g.Service) {
		return Plan{Delete: g.Slices}
	}
	var p Plan
	existing := map[string][]*discoveryv1.EndpointSlice{}
	for _, slice := range g.Slices {
		key := keyOf(slice)
		existing[key] = append(existing[key], slice)
	}
	for _, want := range p.desired(g.Endpoints) {
		key := keyOf(want)
		have := existing[key]
		delete(existing, key)
		if len(have) == 0 {
			if g.Endpoints.DeletionTimestamp == nil {
				p.Create = append(p.Create, want)
			}
			continue
		}
		p.Delete = append(p.Delete, have[1:]...)
		if changed := merge(have[0], want); changed != nil {
			p.Update = append(p.Update, changed)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(existing)) {
		p.Delete = append(p.Delete, existing[key]...)
	}
	return p
}

// isCopied reports whether Endpoints are copied: they are a user's, of a Service without a
// selector, and neither the record of a leader election nor exempted by a label.
func isCopied(e *legacy, service *corev1.Service) bool {
	if e == nil || service == nil || service.Spec.Selector != nil || e.Labels[discoveryv1.LabelSkipMirror] == "true" {
		return false
	}
	_, elected := e.Annotations[resourcelock.LeaderElectionRecordAnnotationKey]
	return !elected
}

// keyOf returns a text that is the same for slices with the same ports and family.
func keyOf(slice *discoveryv1.EndpointSlice) string {
	return string(slice.AddressType) + "-" + string(endpointsliceutil.NewPortMapKey(slices.Clone(slice.Ports)))
}

// merge returns the existing slice with the content that is wanted, or nil if it has that.
func merge(have, want *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	changed := have.DeepCopy()
	changed.Labels, changed.Annotations, changed.Endpoints = want.Labels, want.Annotations, want.Endpoints
	changed.OwnerReferences = want.OwnerReferences
	if equality.Semantic.DeepEqual(have, changed) {
		return nil
	}
	return changed
}

// desired returns the slices for the Endpoints: for each set of ports, in the order in which they
// appear, one of each family.
func (p *Plan) desired(e *legacy) []*discoveryv1.EndpointSlice {
	var order []string
	groups := map[string]*group{}
	for i := range e.Subsets {
		s := &e.Subsets[i]
		ports := slicePorts(s.Ports)
		key := string(endpointsliceutil.NewPortMapKey(slices.Clone(ports)))
		if groups[key] == nil {
			groups[key] = &group{ports: ports, ready: map[string]bool{}}
			order = append(order, key)
		}
		groups[key].add(s.Addresses, true)
		groups[key].add(s.NotReadyAddresses, false)
	}
	var out []*discoveryv1.EndpointSlice
	for _, key := range order {
		out = append(out, p.slicesOf(e, groups[key])...)
	}
	return out
}

// group has the addresses of one set of ports. An address that is in two subsets is not ready if
// one of them says so.
type group struct {
	ports     []discoveryv1.EndpointPort
	addresses []legacyAddress
	ready     map[string]bool // by identity
}

func (g *group) add(addresses []legacyAddress, ready bool) {
	for i := range addresses {
		id := identity(&addresses[i])
		before, known := g.ready[id]
		g.ready[id] = ready && (before || !known)
		if !known {
			g.addresses = append(g.addresses, addresses[i])
		}
	}
}

// identity returns a text that is the same for addresses that are one endpoint.
func identity(a *legacyAddress) string {
	target := ""
	if t := a.TargetRef; t != nil {
		target = fmt.Sprintf("%s/%s/%s/%s", t.Kind, t.Namespace, t.Name, t.UID)
	}
	return fmt.Sprintf("%s %s %s", a.IP, a.Hostname, target)
}

// slicesOf returns the slices of a group: those that are ready first, as long as they are not too
// many.
func (p *Plan) slicesOf(e *legacy, g *group) []*discoveryv1.EndpointSlice {
	slices.SortStableFunc(g.addresses, func(a, b legacyAddress) int {
		return cmp.Compare(rank(g.ready[identity(&a)]), rank(g.ready[identity(&b)]))
	})
	families := []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}
	found := map[discoveryv1.AddressType][]discoveryv1.Endpoint{}
	copied := 0
	for i := range g.addresses {
		a := &g.addresses[i]
		endpoint, family, ok := endpointOf(a, g.ready[identity(a)])
		switch {
		case copied == maxAddresses:
			p.Skipped++
		case !ok:
			p.Invalid++
		default:
			copied++
			found[family] = append(found[family], endpoint)
		}
	}
	var out []*discoveryv1.EndpointSlice
	for _, family := range families {
		if len(found[family]) > 0 {
			out = append(out, newSlice(e, family, g.ports, found[family]))
		}
	}
	return out
}

func rank(ready bool) int {
	if ready {
		return 0
	}
	return 1
}

// endpointOf returns the endpoint for an address. Addresses of an old form, which stored Endpoints
// may have, get the form that slices require.
func endpointOf(a *legacyAddress, ready bool) (discoveryv1.Endpoint, discoveryv1.AddressType, bool) {
	ip, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(a.IP))
	if !ok {
		return discoveryv1.Endpoint{}, "", false
	}
	ip = ip.Unmap()
	family := discoveryv1.AddressTypeIPv6
	if ip.Is4() {
		family = discoveryv1.AddressTypeIPv4
	}
	out := discoveryv1.Endpoint{
		Addresses: []string{ip.String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		NodeName: a.NodeName, TargetRef: a.TargetRef,
	}
	if a.Hostname != "" {
		hostname := a.Hostname
		out.Hostname = &hostname
	}
	return out, family, true
}

func slicePorts(ports []legacyPort) []discoveryv1.EndpointPort {
	out := make([]discoveryv1.EndpointPort, 0, len(ports))
	for _, p := range ports {
		out = append(out, discoveryv1.EndpointPort{
			Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol, AppProtocol: p.AppProtocol,
		})
	}
	return out
}

func newSlice(
	e *legacy, family discoveryv1.AddressType, ports []discoveryv1.EndpointPort, endpoints []discoveryv1.Endpoint,
) *discoveryv1.EndpointSlice {
	labels := map[string]string{}
	maps.Copy(labels, e.Labels)
	labels[discoveryv1.LabelServiceName], labels[discoveryv1.LabelManagedBy] = e.Name, controllerName
	annotations := map[string]string{}
	maps.Copy(annotations, e.Annotations)
	delete(annotations, corev1.EndpointsLastChangeTriggerTime)
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	prefix := e.Name + "-"
	if len(apivalidation.NameIsDNSSubdomain(prefix, true)) > 0 {
		prefix = e.Name
	}
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: e.Namespace, GenerateName: prefix, Labels: labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(e, kind)},
		},
		AddressType: family, Ports: ports, Endpoints: endpoints,
	}
}
