package forecast

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/model"
)

const (
	// APIVersion is the version of the form of a Plan.
	APIVersion = "plan.allot.dev/v1alpha1"
	// Kind is the kind of a Plan.
	Kind = "Plan"
)

// Action is the kind of change of an object or pod.
type Action string

// The actions of a Plan.
const (
	Create  Action = "Create"
	Update  Action = "Update"
	Delete  Action = "Delete"
	Place   Action = "Place"   // a pod that waits or is new gets a node
	Move    Action = "Move"    // a pod is evicted, and the pod that replaces it gets a node
	Evict   Action = "Evict"   // a pod is evicted, and nothing replaces it on another node
	Preempt Action = "Preempt" // a pod is evicted for one of higher priority
	Wait    Action = "Wait"    // a pod has no node
)

// Plan is the forecast of the effects of Changes.
type Plan struct {
	metav1.TypeMeta `json:",inline"`
	Summary         Summary `json:"summary"`
	// Recomputed is set if another scheduler than allot decides about some of the pods, so that the
	// Plan is what allot would decide.
	Recomputed bool `json:"recomputed,omitempty"`
	// Objects lists the objects that the Changes themselves create, update and delete.
	Objects []ObjectChange `json:"objects,omitempty"`
	Pods    []PodChange    `json:"pods,omitempty"`
	Waits   []Waiting      `json:"waits,omitempty"`
	// Problems are objects that the server or a controller would not create, or that stay.
	Problems []Problem `json:"problems,omitempty"`
	Capacity *Capacity `json:"capacity,omitempty"`
	// Notes name the parts of the cluster that the forecast does not cover.
	Notes []string `json:"notes,omitempty"`
	// Unknown lists objects that could not be read and may change the answer.
	Unknown []string `json:"unknown,omitempty"`
}

// Summary counts pods.
type Summary struct {
	Placed int `json:"placed"`
	Moved  int `json:"moved"`
	// Evicted counts pods that are evicted or preempted, and not placed again.
	Evicted int `json:"evicted"`
	Deleted int `json:"deleted"`
	// Waiting counts pods that wait because of the Changes, and StillWaiting those that wait already.
	Waiting      int `json:"waiting"`
	StillWaiting int `json:"stillWaiting"`
}

// ObjectChange is an object that the Changes name.
type ObjectChange struct {
	Action    Action `json:"action"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// PodChange is the change of one pod.
type PodChange struct {
	Action    Action `json:"action"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// New is set if the pod does not exist yet. The end of a name that the server generates is made
	// up.
	New bool `json:"new,omitempty"`
	// Replaces is the evicted pod that this one replaces.
	Replaces string `json:"replaces,omitempty"`
	// Owner is the controller of the pod: "Job default/train".
	Owner string `json:"owner,omitempty"`
	Group string `json:"podGroup,omitempty"`
	// From is the node that the pod leaves, and To the one that it gets.
	From    string   `json:"from,omitempty"`
	To      string   `json:"to,omitempty"`
	Devices []Device `json:"devices,omitempty"`
	// Reason is why the pod leaves its node.
	Reason string `json:"reason,omitempty"`
}

// Device is a device that a pod gets.
type Device struct {
	Claim   string `json:"claim"`
	Request string `json:"request"`
	Device  string `json:"device"`
}

// Waiting is pods that would wait together.
type Waiting struct {
	// Subject is the PodGroup or pod that waits.
	Subject string   `json:"subject"`
	Pods    []string `json:"pods"`
	// Already is set if these pods wait already and the Changes do not help them.
	Already bool `json:"already,omitempty"`
	// Reason is why, in one sentence, and Answers the evidence; both are those of explain.
	Reason  string              `json:"reason"`
	Answers []explain.PodAnswer `json:"answers,omitempty"`
	Help    []explain.Help      `json:"help,omitempty"`

	first model.Key // key of the first pod
}

// Problem is why something does not happen.
type Problem struct {
	Object string `json:"object"`
	Reason string `json:"reason"`
}

// Capacity is the number of further copies of the manifests that fit.
type Capacity struct {
	Copies int `json:"copies"`
	// AtLeast is set if more may fit: the count was limited.
	AtLeast bool `json:"atLeast,omitempty"`
	// Pods is the number of pods of one copy.
	Pods int `json:"pods"`
	// RunsOut is why the next copy does not fit.
	RunsOut *Waiting `json:"runsOut,omitempty"`
}
