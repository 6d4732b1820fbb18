package defaults

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	schedulingv1alpha2 "github.com/allot-dev/allot/api/scheduling/v1alpha2"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// PriorityClass sets the preemption policy PreemptLowerPriority.
func PriorityClass(class *schedulingv1.PriorityClass) {
	orNew(&class.PreemptionPolicy, corev1.PreemptLowerPriority)
}

// PodGroup sets the disruption mode Pod. The policy has no default: it is copied from a Workload,
// or required. The preemption policy has none either, as in 1.37 unless an alpha gate is on.
func PodGroup(group *scheduling.PodGroup) {
	orNew(&group.Spec.DisruptionMode, schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}})
}

// CompositePodGroup sets the disruption mode single.
func CompositePodGroup(group *v1alpha3.CompositePodGroup) {
	orNew(
		&group.Spec.DisruptionMode,
		schedulingv1alpha3.CompositeDisruptionMode{Single: &schedulingv1alpha3.SingleCompositeDisruptionMode{}},
	)
}

// PodGroupV1alpha2 sets the defaults of a PodGroup in the version of KEP-5832.
func PodGroupV1alpha2(group *schedulingv1alpha2.PodGroup) {
	orNew(&group.Spec.DisruptionMode, schedulingv1alpha2.DisruptionModePod)
}
