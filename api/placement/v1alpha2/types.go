package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// GroupName is the name of the API group.
const GroupName = "placement.allot.dev"

// SchemeGroupVersion is the version of the kinds in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha2"}

// MaxPods is the maximum number of pods of a Placement, which is one transaction of etcd.
const MaxPods = 10000

// MaxClaims is the maximum number of ResourceClaims of a Placement. The claims are a part of its
// record, which must not exceed the size of a request to etcd.
const MaxClaims = 500

// Placement creates ResourceClaims with their allocations, and binds pods of the same namespace to
// nodes: all of them or none. It is created, and never stored: the response to its creation has the
// result, without the spec.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Placement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Spec has the claims and binds to write.
	Spec PlacementSpec `json:"spec,omitempty,omitzero" protobuf:"bytes,2,opt,name=spec"`
	// Status is the result. It is set by the server.
	Status PlacementStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// PlacementSpec has the writes of a Placement.
type PlacementSpec struct {
	// Claims are the ResourceClaims to create, each with its allocation and its consumers in the
	// status. They are created before the pods are bound. A claim that exists already is a conflict,
	// unless it was created by an earlier attempt of the same request. Optional.
	Claims []resource.ResourceClaim `json:"claims,omitempty" protobuf:"bytes,2,rep,name=claims"`
	// Pods are the pods and their nodes, each pod once.
	Pods []PodPlacement `json:"pods" protobuf:"bytes,1,rep,name=pods"`
}

// PodPlacement is a pod and the node to which it is bound.
type PodPlacement struct {
	// Name is the name of the pod.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// UID is the UID of the pod. Optional.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,2,opt,name=uid,casttype=k8s.io/apimachinery/pkg/types.UID"`
	// ResourceVersion is the version of the pod on which the decision was made. If it is set, any
	// change of the pod since then is a conflict. Optional.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,3,opt,name=resourceVersion"`
	// NodeName is the name of the node.
	NodeName string `json:"nodeName" protobuf:"bytes,4,opt,name=nodeName"`
}

// PlacementStatus is the result of a Placement.
type PlacementStatus struct {
	// Unbound lists the pods that were not bound, because they were deleted or bound by another
	// client after the Placement was accepted.
	Unbound []UnboundPod `json:"unbound,omitempty" protobuf:"bytes,1,rep,name=unbound"`
}

// UnboundPod is a pod that changed after the Placement was accepted.
type UnboundPod struct {
	// Name is the name of the pod.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// Message is the reason why the pod was not bound.
	Message string `json:"message" protobuf:"bytes,2,opt,name=message"`
}
