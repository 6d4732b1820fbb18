package v1beta2

import (
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
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

// ResourceClaimSpec describes the requested devices. It is immutable.
type ResourceClaimSpec struct {
	resourcev1beta2.ResourceClaimSpec `json:",inline"`

	// ReservedFor is the consumer that the scheduler copies into status.reservedFor at the first
	// reservation, instead of the pod (KEP-5194, "API"). The creator of the claim must remove it
	// from the status.
	ReservedFor *resourcev1beta2.ResourceClaimConsumerReference `json:"reservedFor,omitempty" protobuf:"bytes,100,opt,name=reservedFor"`
}

// Upstream returns the upstream type, without allot's additions.
func (in *ResourceClaimSpec) Upstream() resourcev1beta2.ResourceClaimSpec {
	return in.ResourceClaimSpec
}

// AllocationResult has the devices allocated to a claim.
type AllocationResult struct {
	resourcev1beta2.AllocationResult `json:",inline"`

	// ReservedForAnyPod allows every pod that references the claim to use it, whether or not the
	// pod is in status.reservedFor (KEP-5194, "API").
	ReservedForAnyPod *bool `json:"reservedForAnyPod,omitempty" protobuf:"varint,100,opt,name=reservedForAnyPod"`
}

// Upstream returns the upstream type, without allot's additions.
func (in *AllocationResult) Upstream() resourcev1beta2.AllocationResult { return in.AllocationResult }

// Upstream returns the upstream type, without allot's additions. It shares memory with in, and must
// not be modified or stored.
func (in *ResourceClaim) Upstream() *resourcev1beta2.ResourceClaim {
	return &resourcev1beta2.ResourceClaim{
		TypeMeta:   in.TypeMeta,
		ObjectMeta: in.ObjectMeta,
		Spec:       in.Spec.Upstream(),
		Status:     in.Status.Upstream(),
	}
}
