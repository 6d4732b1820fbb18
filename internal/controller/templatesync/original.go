package templatesync

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

// Original is a ClusterResourceClaimTemplate with derived properties.
type Original struct {
	*allotv1alpha1.ClusterResourceClaimTemplate
	// CopyName is the name of the copies.
	CopyName string
	// Hash is the hash of the content. Equal contents have equal hashes.
	Hash string
	// Selector selects the namespaces. It is not valid if there is a Problem.
	Selector labels.Selector
	// Admin reports whether the content requests admin access, which requires a label on the
	// namespace.
	Admin bool
	// Problem is the reason why no copies can be created, although the server accepted the
	// original.
	Problem string
}

// NewOriginal returns the Original for t, which must not be changed afterwards.
func NewOriginal(t *allotv1alpha1.ClusterResourceClaimTemplate) (*Original, error) {
	o := &Original{ClusterResourceClaimTemplate: t, CopyName: t.Spec.NameOverride, Selector: labels.Everything()}
	if o.CopyName == "" {
		o.CopyName = t.Name
	}
	content, err := json.Marshal(struct {
		Metadata allotv1alpha1.TemplateMetadata
		Spec     resourcev1.ResourceClaimSpec
	}{t.Spec.Metadata, t.Spec.Spec})
	if err != nil {
		return nil, fmt.Errorf("ClusterResourceClaimTemplate %s: %w", t.Name, err)
	}
	o.Hash = hashOf(content)[:32]
	if t.Spec.NamespaceSelector != nil {
		o.Selector, err = metav1.LabelSelectorAsSelector(t.Spec.NamespaceSelector)
		if err != nil {
			o.Problem = fmt.Sprintf("spec.namespaceSelector: %v", err)
		}
	}
	o.Admin = slices.ContainsFunc(t.Spec.Spec.Devices.Requests, func(r resourcev1.DeviceRequest) bool {
		return r.Exactly != nil && r.Exactly.AdminAccess != nil && *r.Exactly.AdminAccess
	})
	return o, nil
}

// content returns the spec of the copies.
func (o *Original) content() resourcev1.ResourceClaimTemplateSpec {
	m := o.Spec.Metadata
	return resourcev1.ResourceClaimTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: m.Labels, Annotations: m.Annotations},
		Spec:       o.Spec.Spec,
	}
}

// copyFor returns the copy for a namespace.
func (o *Original) copyFor(namespace string) *resourcev1.ResourceClaimTemplate {
	return &resourcev1.ResourceClaimTemplate{ObjectMeta: o.marks(namespace), Spec: o.content()}
}

// goesBefore sorts originals by their right to a name: the older one has it.
func (o *Original) goesBefore(other *Original) int {
	if !o.CreationTimestamp.Equal(&other.CreationTimestamp) {
		return o.CreationTimestamp.Compare(other.CreationTimestamp.Time)
	}
	return strings.Compare(o.Name, other.Name)
}
