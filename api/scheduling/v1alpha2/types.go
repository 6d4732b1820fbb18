package v1alpha2

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Workload is a static template of the PodGroups that a workload consists of
// (KEP-5832, "Updated Workload API").
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Workload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Spec WorkloadSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// WorkloadList is a list of Workloads.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type WorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Items []Workload `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// WorkloadSpec is immutable, except for the minCount of gangs.
type WorkloadSpec struct {
	ControllerRef     *schedulingv1beta1.TypedLocalObjectReference `json:"controllerRef,omitempty" protobuf:"bytes,1,opt,name=controllerRef"`
	PodGroupTemplates []PodGroupTemplate                           `json:"podGroupTemplates" protobuf:"bytes,2,rep,name=podGroupTemplates"`
	// CompositePodGroupTemplates are those of v1beta1.
	CompositePodGroupTemplates []CompositePodGroupTemplate `json:"compositePodGroupTemplates,omitempty" protobuf:"bytes,100,rep,name=compositePodGroupTemplates"`
}

// CompositePodGroupTemplate is a template for CompositePodGroups, as in v1beta1.
type CompositePodGroupTemplate struct {
	Name                       string                                                    `json:"name" protobuf:"bytes,1,opt,name=name"`
	SchedulingPolicy           schedulingv1beta1.CompositePodGroupSchedulingPolicy       `json:"schedulingPolicy" protobuf:"bytes,2,opt,name=schedulingPolicy"`
	SchedulingConstraints      *schedulingv1beta1.CompositePodGroupSchedulingConstraints `json:"schedulingConstraints,omitempty" protobuf:"bytes,3,opt,name=schedulingConstraints"`
	DisruptionMode             *schedulingv1beta1.CompositeDisruptionMode                `json:"disruptionMode,omitempty" protobuf:"bytes,4,opt,name=disruptionMode"`
	PriorityClassName          string                                                    `json:"priorityClassName,omitempty" protobuf:"bytes,5,opt,name=priorityClassName"`
	Priority                   *int32                                                    `json:"priority,omitempty" protobuf:"varint,6,opt,name=priority"`
	PreemptionPolicy           *schedulingv1beta1.PreemptionPolicy                       `json:"preemptionPolicy,omitempty" protobuf:"bytes,7,opt,name=preemptionPolicy,casttype=k8s.io/api/scheduling/v1beta1.PreemptionPolicy"`
	PodGroupTemplates          []PodGroupTemplate                                        `json:"podGroupTemplates,omitempty" protobuf:"bytes,8,rep,name=podGroupTemplates"`
	CompositePodGroupTemplates []CompositePodGroupTemplate                               `json:"compositePodGroupTemplates,omitempty" protobuf:"bytes,9,rep,name=compositePodGroupTemplates"`
	ResourceClaims             []PodGroupResourceClaim                                   `json:"resourceClaims,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" protobuf:"bytes,100,rep,name=resourceClaims"`
}

// PodGroupTemplate is a template for PodGroups.
type PodGroupTemplate struct {
	Name                  string                                           `json:"name" protobuf:"bytes,1,opt,name=name"`
	SchedulingPolicy      schedulingv1beta1.PodGroupSchedulingPolicy       `json:"schedulingPolicy" protobuf:"bytes,2,opt,name=schedulingPolicy"`
	SchedulingConstraints *schedulingv1beta1.PodGroupSchedulingConstraints `json:"schedulingConstraints,omitempty" protobuf:"bytes,3,opt,name=schedulingConstraints"`
	ResourceClaims        []PodGroupResourceClaim                          `json:"resourceClaims,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" protobuf:"bytes,4,rep,name=resourceClaims"`
	DisruptionMode        *DisruptionMode                                  `json:"disruptionMode,omitempty" protobuf:"bytes,5,opt,name=disruptionMode,casttype=DisruptionMode"`
	PriorityClassName     string                                           `json:"priorityClassName,omitempty" protobuf:"bytes,6,opt,name=priorityClassName"`
	Priority              *int32                                           `json:"priority,omitempty" protobuf:"varint,7,opt,name=priority"`
	PreemptionPolicy      *schedulingv1beta1.PreemptionPolicy              `json:"preemptionPolicy,omitempty" protobuf:"bytes,100,opt,name=preemptionPolicy,casttype=k8s.io/api/scheduling/v1beta1.PreemptionPolicy"`
}

// DisruptionMode is whether pods of a group may be disrupted individually.
type DisruptionMode string

// The disruption modes of v1alpha2. In v1beta1 they are single and all.
const (
	DisruptionModePod      DisruptionMode = "Pod"
	DisruptionModePodGroup DisruptionMode = "PodGroup"
)

// PodGroupResourceClaim is one group claim (KEP-5729, "Workload"). Exactly one of
// its three sources is set.
type PodGroupResourceClaim struct {
	Name                             string  `json:"name" protobuf:"bytes,1,opt,name=name"`
	ResourceClaimName                *string `json:"resourceClaimName,omitempty" protobuf:"bytes,2,opt,name=resourceClaimName"`
	ResourceClaimTemplateName        *string `json:"resourceClaimTemplateName,omitempty" protobuf:"bytes,3,opt,name=resourceClaimTemplateName"`
	ClusterResourceClaimTemplateName *string `json:"clusterResourceClaimTemplateName,omitempty" protobuf:"bytes,100,opt,name=clusterResourceClaimTemplateName"`
}

// PodGroup is a runtime instance of pods that are scheduled together (KEP-5832,
// "PodGroup API").
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

// PodGroupSpec is immutable, except for gang.minCount.
type PodGroupSpec struct {
	PodGroupTemplateRef   *PodGroupTemplateReference                       `json:"podGroupTemplateRef,omitempty" protobuf:"bytes,1,opt,name=podGroupTemplateRef"`
	SchedulingPolicy      schedulingv1beta1.PodGroupSchedulingPolicy       `json:"schedulingPolicy,omitempty" protobuf:"bytes,2,opt,name=schedulingPolicy"`
	SchedulingConstraints *schedulingv1beta1.PodGroupSchedulingConstraints `json:"schedulingConstraints,omitempty" protobuf:"bytes,3,opt,name=schedulingConstraints"`
	ResourceClaims        []PodGroupResourceClaim                          `json:"resourceClaims,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" protobuf:"bytes,4,rep,name=resourceClaims"`
	DisruptionMode        *DisruptionMode                                  `json:"disruptionMode,omitempty" protobuf:"bytes,5,opt,name=disruptionMode,casttype=DisruptionMode"`
	PriorityClassName     string                                           `json:"priorityClassName,omitempty" protobuf:"bytes,6,opt,name=priorityClassName"`
	Priority              *int32                                           `json:"priority,omitempty" protobuf:"varint,7,opt,name=priority"`
	PreemptionPolicy      *schedulingv1beta1.PreemptionPolicy              `json:"preemptionPolicy,omitempty" protobuf:"bytes,100,opt,name=preemptionPolicy,casttype=k8s.io/api/scheduling/v1beta1.PreemptionPolicy"`
	// ParentCompositePodGroupName is that of v1beta1.
	ParentCompositePodGroupName *string `json:"parentCompositePodGroupName,omitempty" protobuf:"bytes,101,opt,name=parentCompositePodGroupName"`
}

// PodGroupTemplateReference refers to the template of a PodGroup, in KEP-5832's nested form, or in
// KEP-5729's flat form, which is write-only.
type PodGroupTemplateReference struct {
	Workload *WorkloadPodGroupTemplateReference `json:"workload,omitempty" protobuf:"bytes,1,opt,name=workload"`

	WorkloadName         string `json:"workloadName,omitempty" protobuf:"bytes,100,opt,name=workloadName"`
	PodGroupTemplateName string `json:"podGroupTemplateName,omitempty" protobuf:"bytes,101,opt,name=podGroupTemplateName"`
}

// WorkloadPodGroupTemplateReference names a template of a Workload.
type WorkloadPodGroupTemplateReference struct {
	WorkloadName         string `json:"workloadName" protobuf:"bytes,1,opt,name=workloadName"`
	PodGroupTemplateName string `json:"podGroupTemplateName" protobuf:"bytes,2,opt,name=podGroupTemplateName"`
}
