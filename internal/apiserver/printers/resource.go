package printers

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// ResourceClaim returns the printer of ResourceClaims.
func ResourceClaim() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("State", "string", "Whether the claim is pending, allocated, reserved or deleted."),
		ageColumn(),
		wideOnly(computedColumn("Devices", "string", "The allocated devices, by pool and name.")),
		wideOnly(computedColumn("Nodes", "string", "The nodes on which the devices can be used.")),
		wideOnly(computedColumn("Reserved For", "string", "The consumers of the claim.")),
	}, func(c *resource.ResourceClaim, now time.Time) []any {
		return []any{
			c.Name, claimState(c), age(c.CreationTimestamp, now),
			orNone(claimDevices(c)), claimNodes(c), orNone(claimConsumers(c.Status.ReservedFor)),
		}
	})
}

func claimState(c *resource.ResourceClaim) string {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	switch {
	case c.Status.Allocation != nil && len(c.Status.ReservedFor) > 0:
		states = append(states, "allocated", "reserved")
	case c.Status.Allocation != nil:
		states = append(states, "allocated")
	case c.DeletionTimestamp == nil:
		states = append(states, "pending")
	}
	return strings.Join(states, ",")
}

func claimDevices(c *resource.ResourceClaim) string {
	if c.Status.Allocation == nil {
		return ""
	}
	results := c.Status.Allocation.Devices.Results
	names := make([]string, len(results))
	for i := range results {
		names[i] = results[i].Pool + "/" + results[i].Device
	}
	return strings.Join(names, ",")
}

// claimNodes returns the nodes in an allocation's selector. Usually there is none, for devices that
// are available on all nodes, or it has one node by name.
func claimNodes(c *resource.ResourceClaim) string {
	if c.Status.Allocation == nil {
		return "<none>"
	}
	selector := c.Status.Allocation.NodeSelector
	if selector == nil {
		return "<all>"
	}
	var nodes []string
	for i := range selector.NodeSelectorTerms {
		nodes = append(nodes, termNodes(&selector.NodeSelectorTerms[i]))
	}
	return orNone(strings.Join(nodes, ","))
}

func termNodes(term *corev1.NodeSelectorTerm) string {
	for _, field := range term.MatchFields {
		if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn {
			return strings.Join(field.Values, ",")
		}
	}
	var texts []string
	for _, label := range term.MatchExpressions {
		if label.Operator == corev1.NodeSelectorOpIn {
			texts = append(texts, label.Key+"="+strings.Join(label.Values, "|"))
		} else {
			texts = append(texts, fmt.Sprintf("%s %s", label.Key, label.Operator))
		}
	}
	return strings.Join(texts, " and ")
}

// claimConsumers returns the name of a single consumer, or the numbers of several by kind.
func claimConsumers(consumers []resourcev1.ResourceClaimConsumerReference) string {
	var kinds []string
	first, count := map[string]string{}, map[string]int{}
	for _, c := range consumers {
		if count[c.Resource] == 0 {
			kinds = append(kinds, c.Resource)
			first[c.Resource] = c.Name
		}
		count[c.Resource]++
	}
	for i, kind := range kinds {
		if count[kind] == 1 {
			kinds[i] = kind + "/" + first[kind]
		} else {
			kinds[i] = fmt.Sprintf("%d %s", count[kind], kind)
		}
	}
	return strings.Join(kinds, ",")
}

// ResourceSlice returns the printer of ResourceSlices.
func ResourceSlice() Printer {
	doc := resourcev1.ResourceSliceSpec{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Node", "string", doc, "nodeName"),
		column("Driver", "string", doc, "driver"),
		column("Pool", "string", resourcev1.ResourcePool{}, "name"),
		ageColumn(),
		wideOnly(computedColumn("Generation", "integer", "The generation of the pool to which the slice belongs.")),
		wideOnly(computedColumn("Devices", "integer", "The number of devices in the slice.")),
	}, func(s *resourcev1.ResourceSlice, now time.Time) []any {
		return []any{
			s.Name, ptr.Deref(s.Spec.NodeName, ""), s.Spec.Driver, s.Spec.Pool.Name, age(s.CreationTimestamp, now),
			s.Spec.Pool.Generation, int64(len(s.Spec.Devices)),
		}
	})
}
