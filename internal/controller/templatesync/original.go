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

// Original is a ClusterResourceClaimTemplate with what follows from it.
type Original struct {
	*allotv1alpha1.ClusterResourceClaimTemplate
	// CopyName is the name of the copies.
	CopyName string
	// Hash is that of the content: equal contents have equal hashes.
	Hash string
	// Selector selects the namespaces. Not valid when there is a Problem.
	Selector labels.Selector
	// Admin says that the content asks for admin access, which only labelled namespaces may have.
	Admin bool
	// Problem says why nothing can be done for the original, though the server took it.
	Problem string
}

// NewOriginal reads t, which is not to be changed any more.
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

// content is the spec of the copies.
func (o *Original) content() resourcev1.ResourceClaimTemplateSpec {
	m := o.Spec.Metadata
	return resourcev1.ResourceClaimTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: m.Labels, Annotations: m.Annotations}, Spec: o.Spec.Spec}
}

// copyFor is the copy as it is made in a namespace.
func (o *Original) copyFor(namespace string) *resourcev1.ResourceClaimTemplate {
	return &resourcev1.ResourceClaimTemplate{ObjectMeta: o.marks(namespace), Spec: o.content()}
}

// goesBefore orders originals by right to a name: the older one has it.
func (o *Original) goesBefore(other *Original) int {
	if !o.CreationTimestamp.Equal(&other.CreationTimestamp) {
		return o.CreationTimestamp.Compare(other.CreationTimestamp.Time)
	}
	return strings.Compare(o.Name, other.Name)
}
