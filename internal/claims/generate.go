package claims

import (
	"maps"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

const (
	// PodClaimAnnotation has the name of the entry for which a claim was generated. Upstream sets
	// it on claims of PodGroups too, and so does allot.
	PodClaimAnnotation = resourcev1.PodResourceClaimAnnotation
	// GroupClaimAnnotation has the name of the PodGroup's entry (K5729, "Create").
	GroupClaimAnnotation = "resource.kubernetes.io/podgroup-claim-name"
	// TemplateAnnotation has the template from which a claim was generated, as kind/name/uid,
	// because a template may be replaced by another with the same name (F33).
	TemplateAnnotation = "allot.dev/template"
	// Finalizer protects an allocated claim until it is deallocated. Generated claims have it from
	// the start, which saves the scheduler a write.
	Finalizer = resourcev1.Finalizer
)

// generate returns the claim to create for an entry of the owner.
func generate(owner Owner, entry string, t Template, attempt int) *resource.ResourceClaim {
	annotations := maps.Clone(t.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[PodClaimAnnotation] = entry
	if owner.Group {
		annotations[GroupClaimAnnotation] = entry
	}
	annotations[TemplateAnnotation] = t.annotation()
	spec := t.Spec.DeepCopy()
	if owner.ReservedFor != nil {
		spec.ReservedFor = owner.ReservedFor.DeepCopy()
	}
	return &resource.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:            generatedName(owner, entry, attempt),
			GenerateName:    baseName(owner.Name, entry) + "-",
			Namespace:       owner.Namespace,
			Labels:          maps.Clone(t.Labels),
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{owner.Reference},
			Finalizers:      []string{Finalizer},
		},
		Spec: *spec,
	}
}

// generatedName returns the name of the claim for an entry of the owner.
func generatedName(owner Owner, entry string, attempt int) string {
	return baseName(owner.Name, entry) + "-" + suffix(owner.UID, entry, attempt)
}

// madeFor reports whether the claim was generated for this entry of the owner, by allot or by
// upstream's controller.
func madeFor(claim *resource.ResourceClaim, owner Owner, entry string) bool {
	if controllerUID(claim) != owner.UID || claim.Namespace != owner.Namespace {
		return false
	}
	if owner.Group {
		if name, ok := claim.Annotations[GroupClaimAnnotation]; ok {
			return name == entry
		}
	}
	return claim.Annotations[PodClaimAnnotation] == entry
}
