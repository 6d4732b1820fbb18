package printers

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// shownEndpoints is the number of addresses or ports that a column shows.
const shownEndpoints = 3

// legacyEndpoints are Endpoints, which are deprecated, and which Kubernetes 1.37 serves.
type legacyEndpoints = corev1.Endpoints //nolint:staticcheck // as the comment says

// Endpoints returns the printer of Endpoints.
func Endpoints() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(), column("Endpoints", "string", legacyEndpoints{}, "subsets"), ageColumn(),
	}, func(e *legacyEndpoints, now time.Time) []any {
		return []any{e.Name, endpointAddresses(e), age(e.CreationTimestamp, now)}
	})
}

func endpointAddresses(e *legacyEndpoints) string {
	var all []string
	for _, s := range e.Subsets {
		if len(s.Ports) == 0 {
			for _, a := range s.Addresses {
				all = append(all, a.IP)
			}
		}
		for _, p := range s.Ports {
			for _, a := range s.Addresses {
				all = append(all, net.JoinHostPort(a.IP, strconv.Itoa(int(p.Port))))
			}
		}
	}
	if len(e.Subsets) == 0 {
		return "<none>"
	}
	return firstOf(all)
}

// firstOf returns the first values of a list, and the number of the others.
func firstOf(all []string) string {
	if more := len(all) - shownEndpoints; more > 0 {
		return fmt.Sprintf("%s + %d more...", strings.Join(all[:shownEndpoints], ","), more)
	}
	return strings.Join(all, ",")
}

// EndpointSlice returns the printer of EndpointSlices.
func EndpointSlice() Printer {
	doc := discoveryv1.EndpointSlice{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("AddressType", "string", doc, "addressType"),
		column("Ports", "string", doc, "ports"),
		column("Endpoints", "string", doc, "endpoints"),
		ageColumn(),
	}, func(s *discoveryv1.EndpointSlice, now time.Time) []any {
		return []any{
			s.Name, string(s.AddressType), slicePorts(s.Ports), sliceEndpoints(s.Endpoints), age(s.CreationTimestamp, now),
		}
	})
}

func slicePorts(ports []discoveryv1.EndpointPort) string {
	var all []string
	for _, p := range ports {
		text := "*"
		if p.Port != nil {
			text = strconv.Itoa(int(*p.Port))
		} else if p.Name != nil {
			text = *p.Name
		}
		all = append(all, text)
	}
	return orUnset(firstOf(all))
}

func orUnset(text string) string {
	if text == "" {
		return "<unset>"
	}
	return text
}

func sliceEndpoints(endpoints []discoveryv1.Endpoint) string {
	var all []string
	for _, e := range endpoints {
		all = append(all, e.Addresses...)
	}
	return orUnset(firstOf(all))
}

// IPAddress returns the printer of IPAddresses.
func IPAddress() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("ParentRef", "string", networkingv1.IPAddressSpec{}, "parentRef"),
	}, func(a *networkingv1.IPAddress, _ time.Time) []any {
		parent := "<none>"
		if ref := a.Spec.ParentRef; ref != nil {
			parent = strings.ToLower(schema.GroupResource{Group: ref.Group, Resource: ref.Resource}.String())
			if ref.Namespace != "" {
				parent += "/" + ref.Namespace
			}
			parent += "/" + ref.Name
		}
		return []any{a.Name, parent}
	})
}
