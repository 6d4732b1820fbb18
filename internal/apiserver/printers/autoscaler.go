package printers

import (
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// shownMetrics is the number of metrics that a column shows.
	shownMetrics  = 2
	unknownMetric = "<unknown>"
)

// HorizontalPodAutoscaler returns the printer of HorizontalPodAutoscalers.
func HorizontalPodAutoscaler() Printer {
	spec := autoscalingv2.HorizontalPodAutoscalerSpec{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Reference", "string", spec, "scaleTargetRef"),
		column("Targets", "string", spec, "metrics"),
		column("MinPods", "string", spec, "minReplicas"),
		column("MaxPods", "string", spec, "maxReplicas"),
		column("Replicas", "string", autoscalingv2.HorizontalPodAutoscalerStatus{}, "currentReplicas"),
		ageColumn(),
	}, func(a *autoscalingv2.HorizontalPodAutoscaler, now time.Time) []any {
		least, target := unset, a.Spec.ScaleTargetRef
		if a.Spec.MinReplicas != nil {
			least = fmt.Sprint(*a.Spec.MinReplicas)
		}
		return []any{
			a.Name, target.Kind + "/" + target.Name, metrics(a.Spec.Metrics, a.Status.CurrentMetrics), least,
			int64(a.Spec.MaxReplicas), int64(a.Status.CurrentReplicas), age(a.CreationTimestamp, now),
		}
	})
}

// metrics returns the current value and the target of the first metrics, and the number of the
// others.
func metrics(specs []autoscalingv2.MetricSpec, statuses []autoscalingv2.MetricStatus) string {
	if len(specs) == 0 {
		return "<none>"
	}
	var all []string
	for i := range specs {
		var current autoscalingv2.MetricStatus
		if i < len(statuses) {
			current = statuses[i]
		}
		all = append(all, metric(&specs[i], &current))
	}
	if more := len(all) - shownMetrics; more > 0 {
		return fmt.Sprintf("%s + %d more...", strings.Join(all[:shownMetrics], ", "), more)
	}
	return strings.Join(all, ", ")
}

func metric(spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus) string {
	var current autoscalingv2.MetricValueStatus
	switch spec.Type {
	case autoscalingv2.ExternalMetricSourceType:
		if status.External != nil {
			current = status.External.Current
		}
		return valueOrAverage(&spec.External.Target, &current)
	case autoscalingv2.ObjectMetricSourceType:
		if status.Object != nil {
			current = status.Object.Current
		}
		return valueOrAverage(&spec.Object.Target, &current)
	case autoscalingv2.PodsMetricSourceType:
		if status.Pods != nil {
			current = status.Pods.Current
		}
		return amount(current.AverageValue) + "/" + spec.Pods.Target.AverageValue.String()
	case autoscalingv2.ResourceMetricSourceType:
		if status.Resource != nil {
			current = status.Resource.Current
		}
		return fmt.Sprintf("%s: %s", spec.Resource.Name, usage(&spec.Resource.Target, &current))
	case autoscalingv2.ContainerResourceMetricSourceType:
		if status.ContainerResource != nil {
			current = status.ContainerResource.Current
		}
		return fmt.Sprintf("%s: %s", spec.ContainerResource.Name, usage(&spec.ContainerResource.Target, &current))
	}
	return "<unknown type>"
}

func valueOrAverage(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return fmt.Sprintf("%s/%s (avg)", amount(current.AverageValue), target.AverageValue)
	}
	return fmt.Sprintf("%s/%s", amount(current.Value), target.Value)
}

func usage(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return fmt.Sprintf("%s/%s", amount(current.AverageValue), target.AverageValue)
	}
	return share(current.AverageUtilization, unknownMetric) + "/" + share(target.AverageUtilization, "<auto>")
}

func amount(value *resource.Quantity) string {
	if value == nil {
		return unknownMetric
	}
	return value.String()
}

func share(percent *int32, none string) string {
	if percent == nil {
		return none
	}
	return fmt.Sprintf("%d%%", *percent)
}
