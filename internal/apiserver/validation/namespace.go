package validation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateNamespace checks a new namespace.
func ValidateNamespace(ns *corev1.Namespace) field.ErrorList {
	return append(metadata(&ns.ObjectMeta, clusterScoped, apivalidation.NameIsDNSLabel), namespaceFinalizers(ns)...)
}

// ValidateNamespaceUpdate checks a change of a namespace's metadata.
func ValidateNamespaceUpdate(ns, old *corev1.Namespace) field.ErrorList {
	return metadataUpdate(&ns.ObjectMeta, &old.ObjectMeta)
}

// ValidateNamespaceStatusUpdate checks that the phase matches metadata.deletionTimestamp.
func ValidateNamespaceStatusUpdate(ns, old *corev1.Namespace) field.ErrorList {
	want := corev1.NamespaceActive
	if !ns.DeletionTimestamp.IsZero() {
		want = corev1.NamespaceTerminating
	}
	return append(metadataUpdate(&ns.ObjectMeta, &old.ObjectMeta),
		check(ns.Status.Phase == want, field.NewPath("status", "phase"), ns.Status.Phase,
			"must be "+string(want)+", by `metadata.deletionTimestamp`")...)
}

// ValidateNamespaceFinalizeUpdate checks a change of spec.finalizers.
func ValidateNamespaceFinalizeUpdate(ns, old *corev1.Namespace) field.ErrorList {
	return append(metadataUpdate(&ns.ObjectMeta, &old.ObjectMeta), namespaceFinalizers(ns)...)
}

func namespaceFinalizers(ns *corev1.Namespace) field.ErrorList {
	at := field.NewPath("spec", "finalizers")
	return each(at, ns.Spec.Finalizers, func(_ *field.Path, name *corev1.FinalizerName) field.ErrorList {
		if *name == corev1.FinalizerKubernetes {
			return nil
		}
		errs := apivalidation.ValidateFinalizerName(string(*name), at)
		if len(errs) == 0 && !containsSlash(string(*name)) {
			errs = append(errs, field.Invalid(at, *name, "must be kubernetes or a name with a domain"))
		}
		return errs
	})
}
