package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod is upstream's Pod with allot's PodSpec.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Spec   PodSpec          `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	Status corev1.PodStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PodList is a list of Pods.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PodList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Items []Pod `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// PodResourceClaim is a claim that a pod uses. Exactly one of its four sources is set (R1).
type PodResourceClaim struct {
	corev1.PodResourceClaim `json:",inline"`

	// ClusterResourceClaimTemplateName names a ClusterResourceClaimTemplate from
	// which a claim is generated for the pod (KEP-5978, "API Changes").
	ClusterResourceClaimTemplateName *string `json:"clusterResourceClaimTemplateName,omitempty" protobuf:"bytes,5,opt,name=clusterResourceClaimTemplateName"`

	// PodGroupResourceClaim is the name of an entry of spec.resourceClaims of the pod's PodGroup
	// (KEP-5729, "Pod"). It requires spec.schedulingGroup.
	PodGroupResourceClaim *string `json:"podGroupResourceClaim,omitempty" protobuf:"bytes,100,opt,name=podGroupResourceClaim"`
}

// Upstream returns the upstream type, without allot's additions.
func (in *PodResourceClaim) Upstream() corev1.PodResourceClaim { return in.PodResourceClaim }

// Upstream returns the upstream type, without allot's additions, for upstream's helper functions.
// It shares memory with in, and must not be modified or stored.
func (in *Pod) Upstream() *corev1.Pod {
	return &corev1.Pod{TypeMeta: in.TypeMeta, ObjectMeta: in.ObjectMeta, Spec: in.Spec.Upstream(), Status: in.Status}
}

// EachContainer calls do for every container of a pod: init containers, containers and ephemeral
// containers, in this order. do may modify them.
func (in *PodSpec) EachContainer(do func(*corev1.Container)) {
	for _, list := range [][]corev1.Container{in.InitContainers, in.Containers} {
		for i := range list {
			do(&list[i])
		}
	}
	for i := range in.EphemeralContainers {
		do((*corev1.Container)(&in.EphemeralContainers[i].EphemeralContainerCommon))
	}
}

// Finished reports whether the pod's containers have ended and will not run again.
func (in *Pod) Finished() bool {
	return in.Status.Phase == corev1.PodSucceeded || in.Status.Phase == corev1.PodFailed
}
