package v1

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CronJob is upstream's CronJob with allot's pod template.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Spec   CronJobSpec           `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	Status batchv1.CronJobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// CronJobList is a list of CronJobs.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type CronJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Items []CronJob `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// Upstream returns the upstream type, without allot's additions. It shares memory with in, and must
// not be modified or stored.
func (in *CronJob) Upstream() *batchv1.CronJob {
	return &batchv1.CronJob{TypeMeta: in.TypeMeta, ObjectMeta: in.ObjectMeta, Spec: in.Spec.Upstream(), Status: in.Status}
}
