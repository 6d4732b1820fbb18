package registry

import (
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	schedulingv1alpha1 "github.com/allot-dev/allot/api/scheduling/v1alpha1"
)

// addStored adds versions that allot does not serve, and in which Kubernetes may have stored
// objects (R46). An object that cannot be decoded would make all lists of its kind fail.
func addStored(scheme *runtime.Scheme) {
	utilruntime.Must(schedulingv1alpha1.AddToScheme(scheme)) // served by Kubernetes 1.35
}
