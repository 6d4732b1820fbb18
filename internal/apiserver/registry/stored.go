package registry

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	schedulingv1alpha1 "github.com/allot-dev/allot/api/scheduling/v1alpha1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// addStored adds versions that allot does not serve, and in which Kubernetes may have stored
// objects (R46). An object that cannot be decoded would make all lists of its kind fail.
func addStored(scheme *runtime.Scheme) {
	gv := schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v1alpha3"} // has the fields of v1beta1
	scheme.AddKnownTypes(gv, &scheduling.PodGroup{}, &scheduling.PodGroupList{}, &scheduling.Workload{},
		&scheduling.WorkloadList{})
	metav1.AddToGroupVersion(scheme, gv)
	utilruntime.Must(schedulingv1alpha1.AddToScheme(scheme)) // served by Kubernetes 1.35
}
