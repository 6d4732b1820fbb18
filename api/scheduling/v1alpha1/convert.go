package v1alpha1

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// SchemeGroupVersion is the group version that this package implements.
var SchemeGroupVersion = schema.GroupVersion{Group: schedulingv1beta1.GroupName, Version: "v1alpha1"}

// AddToScheme registers Workload and its conversion to the hub.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &Workload{})
	return scheme.AddConversionFunc(
		(*Workload)(nil),
		(*scheduling.Workload)(nil),
		func(in, out any, _ conversion.Scope) error {
			workloadToHub(in.(*Workload), out.(*scheduling.Workload))
			return nil
		},
	)
}

// workloadToHub converts each group to a template.
func workloadToHub(in *Workload, out *scheduling.Workload) {
	out.ObjectMeta = in.ObjectMeta
	out.Spec = scheduling.WorkloadSpec{ControllerRef: in.Spec.ControllerRef}
	for _, g := range in.Spec.PodGroups {
		out.Spec.PodGroupTemplates = append(out.Spec.PodGroupTemplates, scheduling.PodGroupTemplate{
			Name:             g.Name,
			SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Basic: g.Policy.Basic, Gang: g.Policy.Gang},
		})
	}
}
