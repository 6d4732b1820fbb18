package printers

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Service returns the printer of Services.
func Service() Printer {
	doc := corev1.ServiceSpec{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Type", "string", doc, "type"),
		column("Cluster-IP", "string", doc, "clusterIP"),
		column("External-IP", "string", doc, "externalIPs"),
		column("Port(s)", "string", doc, "ports"),
		ageColumn(),
		wideOnly(column("Selector", "string", doc, "selector")),
	}, func(s *corev1.Service, now time.Time) []any {
		ip := ""
		if len(s.Spec.ClusterIPs) > 0 {
			ip = s.Spec.ClusterIPs[0]
		}
		return []any{
			s.Name, string(s.Spec.Type), orNone(ip), externalIP(s), orNone(ports(s.Spec.Ports)), age(s.CreationTimestamp, now),
			labels.FormatLabels(s.Spec.Selector),
		}
	})
}

// externalIP returns the addresses for access from outside. A load balancer without addresses stays
// pending.
func externalIP(s *corev1.Service) string {
	external := s.Spec.ExternalIPs
	switch s.Spec.Type {
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		var balancers []string
		for _, in := range s.Status.LoadBalancer.Ingress {
			if in.IP != "" {
				balancers = append(balancers, in.IP)
			} else if in.Hostname != "" {
				balancers = append(balancers, in.Hostname)
			}
		}
		if external = append(balancers, external...); len(external) == 0 {
			return "<pending>"
		}
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
	}
	return orNone(strings.Join(external, ","))
}

func ports(list []corev1.ServicePort) string {
	texts := make([]string, len(list))
	for i, p := range list {
		texts[i] = fmt.Sprintf("%d/%s", p.Port, p.Protocol)
		if p.NodePort > 0 {
			texts[i] = fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
		}
	}
	return strings.Join(texts, ",")
}
