package v1alpha1

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Workload lists groups of pods. Groups were not objects: pods named a Workload and a group in it.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Workload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Spec WorkloadSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// WorkloadSpec is immutable.
type WorkloadSpec struct {
	ControllerRef *schedulingv1beta1.TypedLocalObjectReference `json:"controllerRef,omitempty" protobuf:"bytes,1,opt,name=controllerRef"`
	PodGroups     []PodGroup                                   `json:"podGroups" protobuf:"bytes,2,rep,name=podGroups"`
}

// PodGroup is a template in v1alpha2.
type PodGroup struct {
	Name   string         `json:"name" protobuf:"bytes,1,opt,name=name"`
	Policy PodGroupPolicy `json:"policy" protobuf:"bytes,3,opt,name=policy"`
}

// PodGroupPolicy has one of its fields set.
type PodGroupPolicy struct {
	Basic *schedulingv1beta1.BasicSchedulingPolicy `json:"basic,omitempty" protobuf:"bytes,2,opt,name=basic"`
	Gang  *schedulingv1beta1.GangSchedulingPolicy  `json:"gang,omitempty" protobuf:"bytes,3,opt,name=gang"`
}
