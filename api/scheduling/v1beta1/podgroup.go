package v1beta1

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProtectionFinalizer protects a PodGroup while a pod that names it may run (KEP-5832, "Deletion
// Protection").
const ProtectionFinalizer = "scheduling.k8s.io/podgroup-protection"

// PodGroupScheduled is the condition of KEP-5832, which follows the current state of the group.
// PodGroupInitiallyScheduled, of upstream 1.37, never changes back. Both are set.
const PodGroupScheduled = "PodGroupScheduled"

// CompositePodGroupInitiallyScheduled is upstream's condition of CompositePodGroups, which has no
// name in its API. It never changes back.
const CompositePodGroupInitiallyScheduled = "CompositePodGroupInitiallyScheduled"

// MaxPodGroupResourceClaims is the maximum number of group claims of a PodGroup (R5).
const MaxPodGroupResourceClaims = 32

// PodGroup is upstream's PodGroup with allot's group claims.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PodGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Spec   PodGroupSpec                     `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	Status schedulingv1beta1.PodGroupStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PodGroupList is a list of PodGroups.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PodGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Items []PodGroup `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// PodGroupResourceClaim is one group claim. Exactly one of its three sources is set.
type PodGroupResourceClaim struct {
	schedulingv1beta1.PodGroupResourceClaim `json:",inline"`

	// ClusterResourceClaimTemplateName names a ClusterResourceClaimTemplate from
	// which a claim is generated for the PodGroup (KEP-5978, "API Changes").
	ClusterResourceClaimTemplateName *string `json:"clusterResourceClaimTemplateName,omitempty" protobuf:"bytes,100,opt,name=clusterResourceClaimTemplateName"`
}

// Upstream returns the upstream type, without allot's additions.
func (in *PodGroupResourceClaim) Upstream() schedulingv1beta1.PodGroupResourceClaim {
	return in.PodGroupResourceClaim
}

// Upstream returns the upstream type, without allot's additions. It shares memory with in, and must
// not be modified or stored.
func (in *PodGroup) Upstream() *schedulingv1beta1.PodGroup {
	return &schedulingv1beta1.PodGroup{
		TypeMeta:   in.TypeMeta,
		ObjectMeta: in.ObjectMeta,
		Spec:       in.Spec.Upstream(),
		Status:     in.Status,
	}
}
