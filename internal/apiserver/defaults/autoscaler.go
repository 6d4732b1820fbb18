package defaults

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

const (
	autoscalerUtilization = 80
	scalingPeriodSeconds  = 15
)

// HorizontalPodAutoscaler sets the least number of pods, the metric, and the speed of scaling, if a
// part of it is set.
func HorizontalPodAutoscaler(a *autoscalingv2.HorizontalPodAutoscaler) {
	orNew(&a.Spec.MinReplicas, 1)
	if len(a.Spec.Metrics) == 0 {
		target := autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType}
		orNew(&target.AverageUtilization, autoscalerUtilization)
		a.Spec.Metrics = []autoscalingv2.MetricSpec{{
			Type:     autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: target},
		}}
	}
	if b := a.Spec.Behavior; b != nil {
		double := autoscalingv2.HPAScalingPolicy{
			Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: scalingPeriodSeconds,
		}
		few := autoscalingv2.HPAScalingPolicy{
			Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: scalingPeriodSeconds,
		}
		scalingRules(&b.ScaleUp, few, double)
		orNew(&b.ScaleUp.StabilizationWindowSeconds, 0)
		scalingRules(&b.ScaleDown, double)
	}
}

func scalingRules(field **autoscalingv2.HPAScalingRules, policies ...autoscalingv2.HPAScalingPolicy) {
	orNew(field, autoscalingv2.HPAScalingRules{})
	orNew(&(*field).SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if (*field).Policies == nil {
		(*field).Policies = policies
	}
}

// HorizontalPodAutoscalerV1 sets the lowest number of replicas. The conversion to v2 sets a metric,
// because it knows those that v1 has in annotations.
func HorizontalPodAutoscalerV1(a *autoscalingv1.HorizontalPodAutoscaler) {
	orNew(&a.Spec.MinReplicas, 1)
}
