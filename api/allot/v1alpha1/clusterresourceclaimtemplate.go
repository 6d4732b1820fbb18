package v1alpha1

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterResourceClaimTemplate is the original of ResourceClaimTemplates that are the same in many namespaces.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterResourceClaimTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec may be changed: the copies, which are immutable, are then replaced. Claims that exist stay as they are.
	Spec ClusterResourceClaimTemplateSpec `json:"spec"`
	// Status says where the copies stand.
	Status ClusterResourceClaimTemplateStatus `json:"status,omitempty,omitzero"`
}

// ClusterResourceClaimTemplateSpec is the content of the copies, and where they are wanted.
type ClusterResourceClaimTemplateSpec struct {
	// Metadata is what claims get that are generated from a copy.
	Metadata TemplateMetadata `json:"metadata,omitempty,omitzero"`
	// Spec is the spec of the claims, as in a ResourceClaimTemplate of resource.k8s.io/v1.
	Spec resourcev1.ResourceClaimSpec `json:"spec"`
	// NamespaceSelector selects namespaces by their labels. Absent or empty, it selects all.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// NameOverride is the name of the copies. Default: the name of this object.
	NameOverride string `json:"nameOverride,omitempty"`
}

// TemplateMetadata is the metadata of generated claims.
type TemplateMetadata struct {
	// Labels of generated claims.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of generated claims.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Types of conditions.
const (
	// ConditionReady is True while each wanted namespace has a copy, be it of the content before the last change.
	ConditionReady = "Ready"
	// ConditionInSync is True while each wanted namespace has a copy of the present content.
	ConditionInSync = "InSync"
)

// MaxConflicts is how many conflicts are named; all are counted.
const MaxConflicts = 10

// ClusterResourceClaimTemplateStatus says where the copies stand.
type ClusterResourceClaimTemplateStatus struct {
	// ObservedGeneration is the generation that the rest of the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Wanted is the number of namespaces that are selected. Namespaces that are being deleted do not count.
	Wanted int32 `json:"wanted"`
	// InStep is how many of them have a copy of the present content.
	InStep int32 `json:"inStep"`
	// Conflicting is how many of them have no copy because somebody else has the name there.
	Conflicting int32 `json:"conflicting"`
	// Conflicts names the first of these namespaces in the order of their names.
	Conflicts []NameConflict `json:"conflicts,omitempty"`
	// Conditions are Ready and InSync.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NameConflict is a namespace in which somebody else has the name of the copy.
type NameConflict struct {
	// Namespace is where.
	Namespace string `json:"namespace"`
	// Holder is who has the name: another ClusterResourceClaimTemplate, or a ResourceClaimTemplate that is no copy.
	Holder string `json:"holder"`
}

// ClusterResourceClaimTemplateList is a list of ClusterResourceClaimTemplates.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterResourceClaimTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterResourceClaimTemplate `json:"items"`
}
