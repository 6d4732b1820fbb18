package v1

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

// behavior is the content of the annotation with the behavior. The names of its fields begin with
// upper case letters, as those that Kubernetes writes.
type behavior struct {
	ScaleUp   *scalingRules
	ScaleDown *scalingRules
}

type scalingRules struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *autoscalingv2.ScalingPolicySelect
	Policies                   []scalingPolicy
	Tolerance                  *resource.Quantity
}

type scalingPolicy struct {
	Type          autoscalingv2.HPAScalingPolicyType
	Value         int32
	PeriodSeconds int32
}

func behaviorToHub(in *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscalerBehavior {
	var b behavior
	if !read(in, behaviorAnnotation, &b) || b == (behavior{}) {
		return nil
	}
	return &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleUp: rulesToHub(b.ScaleUp), ScaleDown: rulesToHub(b.ScaleDown),
	}
}

func behaviorFromHub(b *autoscalingv2.HorizontalPodAutoscalerBehavior) *behavior {
	if b == nil {
		return nil
	}
	return &behavior{ScaleUp: rulesFromHub(b.ScaleUp), ScaleDown: rulesFromHub(b.ScaleDown)}
}

func rulesToHub(r *scalingRules) *autoscalingv2.HPAScalingRules {
	if r == nil {
		return nil
	}
	out := &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance,
	}
	if r.Policies != nil {
		out.Policies = make([]autoscalingv2.HPAScalingPolicy, len(r.Policies))
	}
	for i, p := range r.Policies {
		out.Policies[i] = autoscalingv2.HPAScalingPolicy(p)
	}
	return out
}

func rulesFromHub(r *autoscalingv2.HPAScalingRules) *scalingRules {
	if r == nil {
		return nil
	}
	out := &scalingRules{
		StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance,
	}
	if r.Policies != nil {
		out.Policies = make([]scalingPolicy, len(r.Policies))
	}
	for i, p := range r.Policies {
		out.Policies[i] = scalingPolicy(p)
	}
	return out
}
