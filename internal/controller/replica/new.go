package replica

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	core "github.com/allot-dev/allot/api/core/v1"
)

// New returns the pod of a template for owner, a controller of the given kind. It has no name: the
// server generates one from the owner's. It shares no memory with the template.
func New(owner metav1.Object, kind schema.GroupVersionKind, template *core.PodTemplateSpec) *core.Pod {
	return &core.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       owner.GetNamespace(),
			GenerateName:    owner.GetName() + "-",
			Labels:          maps.Clone(template.Labels),
			Annotations:     maps.Clone(template.Annotations),
			Finalizers:      slices.Clone(template.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
}
