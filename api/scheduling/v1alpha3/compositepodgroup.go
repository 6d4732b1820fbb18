package v1alpha3

import (
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// SchemeGroupVersion is the group version that this package implements.
var SchemeGroupVersion = schedulingv1alpha3.SchemeGroupVersion

// CompositePodGroup is upstream's CompositePodGroup with claims of the whole tree.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type CompositePodGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Spec   CompositePodGroupSpec   `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	Status CompositePodGroupStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// CompositePodGroupList is a list of CompositePodGroups.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type CompositePodGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Items []CompositePodGroup `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// CompositePodGroupSpec describes how the groups of a CompositePodGroup are scheduled.
type CompositePodGroupSpec struct {
	schedulingv1alpha3.CompositePodGroupSpec `json:",inline"`

	// ResourceClaims are the claims that all groups below the CompositePodGroup can share. A group
	// uses the claim of an entry by having an entry with the same name and source, as a pod does
	// with an entry of its PodGroup (KEP-5729).
	ResourceClaims []scheduling.PodGroupResourceClaim `json:"resourceClaims,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" protobuf:"bytes,100,rep,name=resourceClaims"`
}

// Upstream returns the upstream type, without allot's additions.
func (in *CompositePodGroupSpec) Upstream() schedulingv1alpha3.CompositePodGroupSpec {
	return in.CompositePodGroupSpec
}

// CompositePodGroupStatus is the observed state of a CompositePodGroup.
type CompositePodGroupStatus struct {
	schedulingv1alpha3.CompositePodGroupStatus `json:",inline"`

	// ResourceClaimStatuses are the names of the claims of the entries that have a template.
	ResourceClaimStatuses []schedulingv1beta1.PodGroupResourceClaimStatus `json:"resourceClaimStatuses,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" protobuf:"bytes,100,rep,name=resourceClaimStatuses"`
}

// Upstream returns the upstream type, without allot's additions.
func (in *CompositePodGroupStatus) Upstream() schedulingv1alpha3.CompositePodGroupStatus {
	return in.CompositePodGroupStatus
}

// Upstream returns the upstream type, without allot's additions. It shares memory with in, and must
// not be modified or stored.
func (in *CompositePodGroup) Upstream() *schedulingv1alpha3.CompositePodGroup {
	return &schedulingv1alpha3.CompositePodGroup{
		TypeMeta:   in.TypeMeta,
		ObjectMeta: in.ObjectMeta,
		Spec:       in.Spec.CompositePodGroupSpec,
		Status:     in.Status.CompositePodGroupStatus,
	}
}
