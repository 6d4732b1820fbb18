package registry

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"

	autoscaling "github.com/allot-dev/allot/api/autoscaling/v1"
	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// horizontalPodAutoscalers are only stored: simulated pods have no metrics to scale by.
func horizontalPodAutoscalers() entry {
	return &kind[autoscalingv2.HorizontalPodAutoscaler, *autoscalingv2.HorizontalPodAutoscaler]{
		names: names{
			group: autoscalingv2.GroupName, versions: []string{"v2", "v1"}, plural: "horizontalpodautoscalers",
			singular: "horizontalpodautoscaler", short: []string{"hpa"}, categories: []string{"all"},
		},
		newList:  func() runtime.Object { return &autoscalingv2.HorizontalPodAutoscalerList{} },
		defaults: defaults.HorizontalPodAutoscaler,
		olderDefaults: []defaultFunc{
			defaultsOf(&autoscalingv1.HorizontalPodAutoscalerList{}, defaults.HorizontalPodAutoscalerV1),
		},
		printer:    printers.HorizontalPodAutoscaler,
		class:      rbac.ReadWrite,
		spec:       func(a *autoscalingv2.HorizontalPodAutoscaler) any { return &a.Spec },
		status:     func(a *autoscalingv2.HorizontalPodAutoscaler) any { return &a.Status },
		generation: true,

		// The annotations of v1 are not stored: their content is, in fields.
		prepareCreate: func(_ context.Context, a *autoscalingv2.HorizontalPodAutoscaler) {
			a.Annotations = autoscaling.WithoutAnnotations(a.Annotations)
		},
		prepareUpdate: func(_ context.Context, a, _ *autoscalingv2.HorizontalPodAutoscaler) {
			a.Annotations = autoscaling.WithoutAnnotations(a.Annotations)
		},
		prepareStatus: func(a, _ *autoscalingv2.HorizontalPodAutoscaler) {
			a.Annotations = autoscaling.WithoutAnnotations(a.Annotations)
		},

		validate:       validation.ValidateHorizontalPodAutoscaler,
		validateUpdate: validation.ValidateHorizontalPodAutoscalerUpdate,
		validateStatus: validation.ValidateHorizontalPodAutoscalerStatusUpdate,
	}
}
