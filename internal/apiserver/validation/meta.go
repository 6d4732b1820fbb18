package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scope is whether a kind is namespaced.
type scope bool

const (
	namespaced    scope = true
	clusterScoped scope = false
)

func metadata(meta *metav1.ObjectMeta, in scope, name apivalidation.ValidateNameFunc) field.ErrorList {
	return append(objectMeta(meta, in, name), finalizers(field.NewPath("metadata", "finalizers"), meta.Finalizers)...)
}

func metadataUpdate(meta, old *metav1.ObjectMeta) field.ErrorList {
	return append(objectMetaUpdate(meta, old), finalizers(field.NewPath("metadata", "finalizers"), meta.Finalizers)...)
}

// objectMeta is metadata for kinds whose finalizers need no domain.
func objectMeta(meta *metav1.ObjectMeta, in scope, name apivalidation.ValidateNameFunc) field.ErrorList {
	return apivalidation.ValidateObjectMeta(meta, bool(in), name, field.NewPath("metadata"))
}

// objectMetaUpdate is metadataUpdate for kinds whose finalizers need no domain.
func objectMetaUpdate(meta, old *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(meta, old, field.NewPath("metadata"))
}

// metadataAgain is metadataUpdate for kinds whose metadata Kubernetes checks at an update as it
// does at creation. Of those checks, only that of the base of a generated name is not part of every
// update.
func metadataAgain(meta, old *metav1.ObjectMeta, name apivalidation.ValidateNameFunc) field.ErrorList {
	return append(metadataUpdate(meta, old), generateName(meta, name)...)
}

// generateName checks the base of a generated name.
func generateName(meta *metav1.ObjectMeta, name apivalidation.ValidateNameFunc) field.ErrorList {
	if meta.GenerateName == "" {
		return nil
	}
	return wellFormed(field.NewPath("metadata", "generateName"), meta.GenerateName,
		func(base string) []string { return name(base, true) })
}

// orMetadata adds the errors of the metadata if the content has none, as Kubernetes does for some
// kinds.
func orMetadata(content field.ErrorList, metadata func() field.ErrorList) field.ErrorList {
	if len(content) > 0 {
		return content
	}
	return metadata()
}

// finalizers checks that all names except Kubernetes' own have a domain. The format of the names is
// checked elsewhere.
func finalizers(path *field.Path, names []string) field.ErrorList {
	own := []string{string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	return each(path, names, func(at *field.Path, name *string) field.ErrorList {
		return check(strings.Contains(*name, "/") || slices.Contains(own, *name), at, *name,
			"must be a standard finalizer or have a domain, as in example.com/name")
	})
}

// templateMetadata checks the metadata in a pod template.
func templateMetadata(path *field.Path, meta *metav1.ObjectMeta) field.ErrorList {
	return join(
		metav1validation.ValidateLabels(meta.Labels, path.Child("labels")),
		apivalidation.ValidateAnnotations(meta.Annotations, path.Child("annotations")),
	)
}

// copiedMetadata checks the metadata in a claim template, which may only have labels and
// annotations.
func copiedMetadata(path *field.Path, meta *metav1.ObjectMeta) field.ErrorList {
	errs := templateMetadata(path, meta)
	for _, other := range []member{
		{"name", meta.Name != ""},
		{"generateName", meta.GenerateName != ""},
		{"namespace", meta.Namespace != ""},
		{"selfLink", meta.GetSelfLink() != ""},
		{"uid", meta.UID != ""},
		{"resourceVersion", meta.ResourceVersion != ""},
		{"generation", meta.Generation != 0},
		{"creationTimestamp", !meta.CreationTimestamp.IsZero()},
		{"deletionTimestamp", meta.DeletionTimestamp != nil},
		{"deletionGracePeriodSeconds", meta.DeletionGracePeriodSeconds != nil},
		{"ownerReferences", meta.OwnerReferences != nil},
		{"finalizers", meta.Finalizers != nil},
		{"managedFields", meta.ManagedFields != nil},
	} {
		if other.set {
			errs = append(errs,
				field.Forbidden(path.Child(other.name), "only `labels` and `annotations` may be set in a template"))
		}
	}
	return errs
}
