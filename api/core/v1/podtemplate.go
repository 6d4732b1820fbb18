package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodTemplate is upstream's PodTemplate with allot's pod template.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PodTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Template PodTemplateSpec `json:"template,omitempty" protobuf:"bytes,2,opt,name=template"`
}

// PodTemplateList is a list of PodTemplates.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PodTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Items []PodTemplate `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// Upstream returns the upstream type, without allot's additions. It shares memory with in, and must
// not be modified or stored.
func (in *PodTemplate) Upstream() *corev1.PodTemplate {
	return &corev1.PodTemplate{TypeMeta: in.TypeMeta, ObjectMeta: in.ObjectMeta, Template: in.Template.Upstream()}
}
