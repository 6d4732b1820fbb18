package v1alpha1

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterResourceClaimTemplate is the source of equal ResourceClaimTemplates in many namespaces.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterResourceClaimTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is mutable: the copies, which are immutable, are then replaced. Existing claims do not
	// change.
	Spec ClusterResourceClaimTemplateSpec `json:"spec"`
	// Status is the state of the copies.
	Status ClusterResourceClaimTemplateStatus `json:"status,omitempty,omitzero"`
}

// ClusterResourceClaimTemplateSpec has the content of the copies, and selects their namespaces.
type ClusterResourceClaimTemplateSpec struct {
	// Metadata is the metadata of claims that are generated from a copy.
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
	// ConditionReady is True while each selected namespace has a copy, possibly of an earlier spec.
	ConditionReady = "Ready"
	// ConditionInSync is True while each selected namespace has a copy of the current spec.
	ConditionInSync = "InSync"
)

// MaxConflicts is the maximum number of conflicts that are listed; all are counted.
const MaxConflicts = 10

// ClusterResourceClaimTemplateStatus is the state of the copies.
type ClusterResourceClaimTemplateStatus struct {
	// ObservedGeneration is the generation for which the status was computed.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Wanted is the number of selected namespaces. Namespaces that are being deleted are not
	// counted.
	Wanted int32 `json:"wanted"`
	// InStep is the number of selected namespaces with a copy of the current spec.
	InStep int32 `json:"inStep"`
	// Conflicting is the number of selected namespaces without a copy because another object has
	// the name.
	Conflicting int32 `json:"conflicting"`
	// Conflicts lists the first of these namespaces, sorted by name.
	Conflicts []NameConflict `json:"conflicts,omitempty"`
	// Conditions are Ready and InSync.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NameConflict is a namespace in which another object has the name of the copy.
type NameConflict struct {
	// Namespace is the name of the namespace.
	Namespace string `json:"namespace"`
	// Holder is the object with the name: another ClusterResourceClaimTemplate, or a
	// ResourceClaimTemplate that is not a copy.
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
