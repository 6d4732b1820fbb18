package printers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkPolicy returns the printer of NetworkPolicies.
func NetworkPolicy() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(), column("Pod-Selector", "string", networkingv1.NetworkPolicySpec{}, "podSelector"), ageColumn(),
	}, func(p *networkingv1.NetworkPolicy, now time.Time) []any {
		return []any{p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), age(p.CreationTimestamp, now)}
	})
}

// Ingress returns the printer of Ingresses.
func Ingress() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("Class", "string", "The IngressClass whose controller serves it."),
		computedColumn("Hosts", "string", "The hosts of the rules."),
		computedColumn("Address", "string", "The addresses of the load balancer."),
		computedColumn("Ports", "string", "The ports that it serves."),
		ageColumn(),
	}, func(i *networkingv1.Ingress, now time.Time) []any {
		class, ports := "<none>", "80"
		if i.Spec.IngressClassName != nil {
			class = *i.Spec.IngressClassName
		}
		if len(i.Spec.TLS) > 0 {
			ports = "80, 443"
		}
		return []any{i.Name, class, ingressHosts(i.Spec.Rules), ingressAddresses(i), ports, age(i.CreationTimestamp, now)}
	})
}

// ingressHosts returns the first hosts. The number of the others counts rules, as in Kubernetes.
func ingressHosts(rules []networkingv1.IngressRule) string {
	var hosts []string
	for _, r := range rules {
		if len(hosts) == shownEndpoints {
			return fmt.Sprintf("%s + %d more...", strings.Join(hosts, ","), len(rules)-shownEndpoints)
		}
		if r.Host != "" {
			hosts = append(hosts, r.Host)
		}
	}
	if len(hosts) == 0 {
		return "*"
	}
	return strings.Join(hosts, ",")
}

func ingressAddresses(i *networkingv1.Ingress) string {
	var all []string
	for _, in := range i.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			all = append(all, in.IP)
		} else if in.Hostname != "" {
			all = append(all, in.Hostname)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// IngressClass returns the printer of IngressClasses.
func IngressClass() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("Controller", "string", "The controller that serves Ingresses of the class."),
		computedColumn("Parameters", "string", "The object with further parameters of the class."),
		ageColumn(),
	}, func(c *networkingv1.IngressClass, now time.Time) []any {
		name, parameters := c.Name, "<none>"
		if c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			name += " (default)"
		}
		if p := c.Spec.Parameters; p != nil {
			parameters = p.Kind
			if p.APIGroup != nil {
				parameters += "." + *p.APIGroup
			}
			parameters += "/" + p.Name
		}
		return []any{name, c.Spec.Controller, parameters, age(c.CreationTimestamp, now)}
	})
}
