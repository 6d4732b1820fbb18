package v1

import (
	"encoding/json"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/api/internal/converters"
)

// SchemeGroupVersion is the group version that this package implements.
var SchemeGroupVersion = autoscalingv1.SchemeGroupVersion

// DefaultUtilization is the utilization of CPU, in percent, by which an object without metrics
// scales.
const DefaultUtilization = 80

// The annotations of v1 objects with what v1 has no fields for.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
	scaleDownAnnotation      = "autoscaling.alpha.kubernetes.io/scale-down-tolerance"
	scaleUpAnnotation        = "autoscaling.alpha.kubernetes.io/scale-up-tolerance"
)

// AddToScheme registers the kinds of v1 and their conversions to and from v2.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &autoscalingv1.HorizontalPodAutoscaler{},
		&autoscalingv1.HorizontalPodAutoscalerList{})
	return converters.Add(scheme, converters.Between(toHub, fromHub), converters.Between(listToHub, listFromHub))
}

// WithoutAnnotations returns the annotations without those that only v1 objects have. It does not
// change the map.
func WithoutAnnotations(annotations map[string]string) map[string]string {
	var out map[string]string
	for _, key := range []string{
		metricsAnnotation, currentMetricsAnnotation, conditionsAnnotation, behaviorAnnotation, scaleDownAnnotation,
		scaleUpAnnotation,
	} {
		if _, ok := annotations[key]; ok {
			if out == nil {
				out = maps.Clone(annotations)
			}
			delete(out, key)
		}
	}
	if out == nil {
		return annotations
	}
	return out
}

func listToHub(
	in *autoscalingv1.HorizontalPodAutoscalerList, out *autoscalingv2.HorizontalPodAutoscalerList, s conversion.Scope,
) error {
	out.ListMeta = in.ListMeta
	return converters.Items(in.Items, &out.Items, toHub, s)
}

func listFromHub(
	in *autoscalingv2.HorizontalPodAutoscalerList, out *autoscalingv1.HorizontalPodAutoscalerList, s conversion.Scope,
) error {
	out.ListMeta = in.ListMeta
	return converters.Items(in.Items, &out.Items, fromHub, s)
}

// toHub never fails because of an annotation: one that is not valid is dropped.
func toHub(
	in *autoscalingv1.HorizontalPodAutoscaler, out *autoscalingv2.HorizontalPodAutoscaler, _ conversion.Scope,
) error {
	out.ObjectMeta = in.ObjectMeta
	out.Annotations = WithoutAnnotations(in.Annotations)
	out.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
		MinReplicas:    in.Spec.MinReplicas,
		MaxReplicas:    in.Spec.MaxReplicas,
		Metrics:        metricsToHub(in),
		Behavior:       behaviorToHub(in),
	}
	out.Status = autoscalingv2.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration,
		LastScaleTime:      in.Status.LastScaleTime,
		CurrentReplicas:    in.Status.CurrentReplicas,
		DesiredReplicas:    in.Status.DesiredReplicas,
		CurrentMetrics:     currentToHub(in),
	}
	var conditions []autoscalingv1.HorizontalPodAutoscalerCondition
	if read(in, conditionsAnnotation, &conditions) {
		out.Status.Conditions = make([]autoscalingv2.HorizontalPodAutoscalerCondition, len(conditions))
		for i := range conditions {
			c := &conditions[i]
			out.Status.Conditions[i] = autoscalingv2.HorizontalPodAutoscalerCondition{
				Type: autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status,
				LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
				ObservedGeneration: c.ObservedGeneration,
			}
		}
	}
	return nil
}

// read decodes an annotation, and reports whether it is there and valid.
func read(in *autoscalingv1.HorizontalPodAutoscaler, annotation string, into any) bool {
	text, ok := in.Annotations[annotation]
	return ok && json.Unmarshal([]byte(text), into) == nil
}

// metricsToHub returns the metrics: those of the annotation, and then that of CPU. An object
// without any has the default.
func metricsToHub(in *autoscalingv1.HorizontalPodAutoscaler) []autoscalingv2.MetricSpec {
	var out []autoscalingv2.MetricSpec
	var others []autoscalingv1.MetricSpec
	if read(in, metricsAnnotation, &others) {
		for i := range others {
			out = append(out, metricToHub(&others[i]))
		}
	}
	if target := in.Spec.TargetCPUUtilizationPercentage; target != nil {
		out = append(out, utilization(*target))
	}
	if len(out) == 0 {
		out = append(out, utilization(DefaultUtilization))
	}
	return out
}

func utilization(percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{
				Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent,
			},
		},
	}
}

// isUtilization reports whether a metric is the one that v1 has a field for.
func isUtilization(m *autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil &&
		m.Resource.Name == corev1.ResourceCPU && m.Resource.Target.AverageUtilization != nil
}

func currentToHub(in *autoscalingv1.HorizontalPodAutoscaler) []autoscalingv2.MetricStatus {
	var current []autoscalingv1.MetricStatus
	if read(in, currentMetricsAnnotation, &current) {
		out := make([]autoscalingv2.MetricStatus, len(current))
		for i := range current {
			out[i] = statusToHub(&current[i])
		}
		return out
	}
	if used := in.Status.CurrentCPUUtilizationPercentage; used != nil {
		percent := *used
		return []autoscalingv2.MetricStatus{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: &percent},
			},
		}}
	}
	return nil
}

func fromHub(
	in *autoscalingv2.HorizontalPodAutoscaler, out *autoscalingv1.HorizontalPodAutoscaler, _ conversion.Scope,
) error {
	out.ObjectMeta = in.ObjectMeta
	out.Spec = autoscalingv1.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
		MinReplicas:    in.Spec.MinReplicas,
		MaxReplicas:    in.Spec.MaxReplicas,
	}
	out.Status = autoscalingv1.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration,
		LastScaleTime:      in.Status.LastScaleTime,
		CurrentReplicas:    in.Status.CurrentReplicas,
		DesiredReplicas:    in.Status.DesiredReplicas,
	}
	var others []autoscalingv1.MetricSpec
	for i := range in.Spec.Metrics {
		m := &in.Spec.Metrics[i]
		switch {
		case !isUtilization(m):
			others = append(others, metricFromHub(m))
		case out.Spec.TargetCPUUtilizationPercentage == nil:
			percent := *m.Resource.Target.AverageUtilization
			out.Spec.TargetCPUUtilizationPercentage = &percent
		}
	}
	var current []autoscalingv1.MetricStatus
	for i := range in.Status.CurrentMetrics {
		m := &in.Status.CurrentMetrics[i]
		current = append(current, statusFromHub(m))
		if r := m.Resource; m.Type == autoscalingv2.ResourceMetricSourceType && r != nil && r.Name == corev1.ResourceCPU &&
			r.Current.AverageUtilization != nil {
			percent := *r.Current.AverageUtilization
			out.Status.CurrentCPUUtilizationPercentage = &percent
		}
	}
	return annotate(in, out, others, current)
}

// annotate sets the annotations of what v1 has no fields for.
func annotate(
	in *autoscalingv2.HorizontalPodAutoscaler, out *autoscalingv1.HorizontalPodAutoscaler,
	others []autoscalingv1.MetricSpec, current []autoscalingv1.MetricStatus,
) error {
	out.Annotations = WithoutAnnotations(in.Annotations)
	var conditions []autoscalingv1.HorizontalPodAutoscalerCondition
	for i := range in.Status.Conditions {
		c := &in.Status.Conditions[i]
		conditions = append(conditions, autoscalingv1.HorizontalPodAutoscalerCondition{
			Type: autoscalingv1.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
			ObservedGeneration: c.ObservedGeneration,
		})
	}
	added := map[string]string{}
	for _, a := range []struct {
		annotation string
		set        bool
		value      any
	}{
		{metricsAnnotation, len(others) > 0, others},
		{currentMetricsAnnotation, len(current) > 0, current},
		{behaviorAnnotation, in.Spec.Behavior != nil, behaviorFromHub(in.Spec.Behavior)},
		{conditionsAnnotation, len(conditions) > 0, conditions},
	} {
		if !a.set {
			continue
		}
		text, err := json.Marshal(a.value)
		if err != nil {
			return err
		}
		added[a.annotation] = string(text)
	}
	if len(added) == 0 {
		return nil
	}
	maps.Copy(added, out.Annotations) // which has none of these keys
	out.Annotations = added
	return nil
}
