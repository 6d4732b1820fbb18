package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scope says whether a kind lives in namespaces.
type scope bool

const (
	namespaced    scope = true
	clusterScoped scope = false
)

func metadata(meta *metav1.ObjectMeta, in scope, name apivalidation.ValidateNameFunc) field.ErrorList {
	return apivalidation.ValidateObjectMeta(meta, bool(in), name, field.NewPath("metadata"))
}

func metadataUpdate(meta, old *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(meta, old, field.NewPath("metadata"))
}

// templateMetadata is what a pod template says about the pods to come.
func templateMetadata(path *field.Path, meta *metav1.ObjectMeta) field.ErrorList {
	return join(
		metav1validation.ValidateLabels(meta.Labels, path.Child("labels")),
		apivalidation.ValidateAnnotations(meta.Annotations, path.Child("annotations")),
	)
}

// copiedMetadata is what a claim template says about the claims to come: labels and
// annotations, and nothing else.
func copiedMetadata(path *field.Path, meta *metav1.ObjectMeta) field.ErrorList {
	errs := templateMetadata(path, meta)
	for _, other := range []member{
		{"name", meta.Name != ""},
		{"generateName", meta.GenerateName != ""},
		{"namespace", meta.Namespace != ""},
		{"uid", meta.UID != ""},
		{"resourceVersion", meta.ResourceVersion != ""},
		{"generation", meta.Generation != 0},
		{"deletionTimestamp", meta.DeletionTimestamp != nil},
		{"deletionGracePeriodSeconds", meta.DeletionGracePeriodSeconds != nil},
		{"ownerReferences", len(meta.OwnerReferences) > 0},
		{"finalizers", len(meta.Finalizers) > 0},
		{"managedFields", len(meta.ManagedFields) > 0},
	} {
		if other.set {
			errs = append(errs, field.Forbidden(path.Child(other.name), "only `labels` and `annotations` may be set in a template"))
		}
	}
	return errs
}
