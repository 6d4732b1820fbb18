package v1alpha3

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// SchemeGroupVersion is the group version to which this package adds kinds.
var SchemeGroupVersion = schema.GroupVersion{Group: resourcev1.GroupName, Version: "v1alpha3"}

// ClusterResourceClaimTemplate is a cluster-scoped ResourceClaimTemplate: pods and PodGroups of
// every namespace may name it, and the claim is generated in their namespace.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterResourceClaimTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Spec describes the claims to generate. It is immutable.
	Spec ClusterResourceClaimTemplateSpec `json:"spec" protobuf:"bytes,2,name=spec"`
}

// ClusterResourceClaimTemplateSpec is the metadata and the spec of generated claims.
type ClusterResourceClaimTemplateSpec struct {
	// ObjectMeta may only have labels and annotations, which are copied.
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Spec is copied unchanged into the generated claim.
	Spec resource.ResourceClaimSpec `json:"spec" protobuf:"bytes,2,name=spec"`
}

// ClusterResourceClaimTemplateList is a list of ClusterResourceClaimTemplates.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterResourceClaimTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Items []ClusterResourceClaimTemplate `json:"items" protobuf:"bytes,2,rep,name=items"`
}
