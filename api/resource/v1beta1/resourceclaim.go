package v1beta1

import (
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceClaim is upstream's ResourceClaim with KEP-5194's fields.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ResourceClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Spec   ResourceClaimSpec   `json:"spec" protobuf:"bytes,2,name=spec"`
	Status ResourceClaimStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ResourceClaimList is a list of ResourceClaims.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ResourceClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Items []ResourceClaim `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ResourceClaimSpec says what is asked for. It is immutable.
type ResourceClaimSpec struct {
	resourcev1beta1.ResourceClaimSpec `json:",inline"`

	// ReservedFor is the consumer that the scheduler copies into
	// status.reservedFor at the first reservation, instead of the pod (KEP-5194,
	// "API"). Whoever made the claim removes it from the status again.
	ReservedFor *resourcev1beta1.ResourceClaimConsumerReference `json:"reservedFor,omitempty" protobuf:"bytes,100,opt,name=reservedFor"`
}

// Upstream gives the upstream form, without allot's additions.
func (in *ResourceClaimSpec) Upstream() resourcev1beta1.ResourceClaimSpec {
	return in.ResourceClaimSpec
}

// AllocationResult says which devices a claim got.
type AllocationResult struct {
	resourcev1beta1.AllocationResult `json:",inline"`

	// ReservedForAnyPod lets every pod that references the claim use it, whether
	// or not status.reservedFor lists the pod (KEP-5194, "API").
	ReservedForAnyPod *bool `json:"reservedForAnyPod,omitempty" protobuf:"varint,100,opt,name=reservedForAnyPod"`
}

// Upstream gives the upstream form, without allot's additions.
func (in *AllocationResult) Upstream() resourcev1beta1.AllocationResult { return in.AllocationResult }

// Upstream gives the upstream form, without allot's additions. It shares memory
// with in, and must not be changed or stored.
func (in *ResourceClaim) Upstream() *resourcev1beta1.ResourceClaim {
	return &resourcev1beta1.ResourceClaim{TypeMeta: in.TypeMeta, ObjectMeta: in.ObjectMeta, Spec: in.Spec.Upstream(), Status: in.Status.Upstream()}
}
