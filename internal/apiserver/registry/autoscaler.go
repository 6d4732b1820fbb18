package registry

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// horizontalPodAutoscalers are only stored: simulated pods have no metrics to scale by.
func horizontalPodAutoscalers() entry {
	return &kind[autoscalingv2.HorizontalPodAutoscaler, *autoscalingv2.HorizontalPodAutoscaler]{
		names: names{
			group: autoscalingv2.GroupName, versions: []string{autoscalingv2.SchemeGroupVersion.Version},
			plural: "horizontalpodautoscalers", singular: "horizontalpodautoscaler", short: []string{"hpa"},
			categories: []string{"all"},
		},
		newList:    func() runtime.Object { return &autoscalingv2.HorizontalPodAutoscalerList{} },
		defaults:   defaults.HorizontalPodAutoscaler,
		printer:    printers.HorizontalPodAutoscaler,
		class:      rbac.ReadWrite,
		spec:       func(a *autoscalingv2.HorizontalPodAutoscaler) any { return &a.Spec },
		status:     func(a *autoscalingv2.HorizontalPodAutoscaler) any { return &a.Status },
		generation: true,

		validate:       validation.ValidateHorizontalPodAutoscaler,
		validateUpdate: validation.ValidateHorizontalPodAutoscalerUpdate,
		validateStatus: validation.ValidateHorizontalPodAutoscalerStatusUpdate,
	}
}
