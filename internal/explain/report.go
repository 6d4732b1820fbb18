package explain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// APIVersion is the version of the form of a Report.
	APIVersion = "explain.allot.dev/v1alpha1"
	// Kind is the kind of a Report.
	Kind = "Report"
)

// State is the state of what a Report is about.
type State string

// The states of a subject.
const (
	Waiting     State = "Waiting"
	Placed      State = "Placed" // every pod has a node, every claim that is needed has devices
	Partly      State = "PartlyPlaced"
	Free        State = "Free" // a claim or device that nothing uses
	InUse       State = "InUse"
	Unusable    State = "Unusable" // a device or node that cannot be used
	Terminating State = "Terminating"
	Finished    State = "Finished"
)

// Report is the answer about one object.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	Subject         Object `json:"subject"`
	State           State  `json:"state"`
	// Summary is one sentence: the answer for a reader in a hurry.
	Summary string `json:"summary"`
	// Recomputed is set if another scheduler than allot decides about the subject, so that the answer
	// is what allot would decide.
	Recomputed bool   `json:"recomputed,omitempty"`
	Facts      []Fact `json:"facts,omitempty"`
	// Groups are the groups of a tree of groups, each before those below it.
	Groups []GroupAnswer `json:"groups,omitempty"`
	// Pods are the reasons of pods that wait; pods that wait for the same reason are together.
	Pods []PodAnswer `json:"pods,omitempty"`
	// Placement is why the pods are where they are.
	Placement []Placement `json:"placement,omitempty"`
	// Devices are the subject's devices, or the subject itself.
	Devices []DeviceAnswer `json:"devices,omitempty"`
	// History lists past events, the oldest first.
	History []Moment `json:"history,omitempty"`
	Help    []Help   `json:"help,omitempty"`
	// Unknown lists objects that could not be read and may change the answer.
	Unknown []string `json:"unknown,omitempty"`
}

// Object names an object of the API, or a device.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Fact is a property of the subject.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// PodAnswer is why some pods that are alike wait.
type PodAnswer struct {
	Pods []string `json:"pods"`
	// Reason is why they cannot be placed on any node, if that does not depend on the node.
	Reason string `json:"reason,omitempty"`
	// Details say more about Reason: the whole expression, what was found.
	Details []string `json:"details,omitempty"`
	// Examined counts the nodes that were examined.
	Examined int         `json:"examined,omitempty"`
	Nodes    []NodeClass `json:"nodes,omitempty"`
	Nearest  *Nearest    `json:"nearest,omitempty"`
}

// NodeClass is the nodes that failed the same check.
type NodeClass struct {
	Check  string `json:"check"`
	Nodes  int    `json:"nodes"`
	Reason string `json:"reason"` // in the words of kube-scheduler
	Detail string `json:"detail,omitempty"`
	// Examples are some of the nodes, with what was found there.
	Examples []NodeExample `json:"examples"`
}

// NodeExample is one node of a NodeClass.
type NodeExample struct {
	Node  string `json:"node"`
	Found string `json:"found,omitempty"`
}

// Nearest is the node where the least is missing, or a claim that is in the way.
type Nearest struct {
	Node    string `json:"node,omitempty"`
	Missing string `json:"missing"`
	// Why lists what stands in the way besides holders.
	Why     []string `json:"why,omitempty"`
	Holders []Holder `json:"holders,omitempty"`
}

// Holder is a device or an amount of a resource with what holds it.
type Holder struct {
	Held  string `json:"held"` // the device, or the amount and resource
	Claim string `json:"claim,omitempty"`
	Since string `json:"since,omitempty"`
	// Consumers are the pods and PodGroups that use it.
	Consumers []string `json:"consumers,omitempty"`
	// Preemption is whether the holder can be preempted for the subject, and why not.
	Preemption string `json:"preemption,omitempty"`
}

// Placement is why a pod is on its node.
type Placement struct {
	Pod        string      `json:"pod"`
	Node       string      `json:"node"`
	Candidates []Candidate `json:"candidates,omitempty"`
}

// Candidate is a node that a pod could have, with its scores.
type Candidate struct {
	Node   string  `json:"node"`
	Rank   int     `json:"rank"` // 1 is the best
	Chosen bool    `json:"chosen,omitempty"`
	Scores []Score `json:"scores,omitempty"`
}

// Score is the rating of a node by a preference: "150 of 200", where more is better, for what the
// pod's author prefers, and a number otherwise, where less is better. Preferences are in the order
// in which they count.
type Score struct {
	Preference string `json:"preference"`
	Value      string `json:"value"`
}

// DeviceAnswer is a device with its state.
type DeviceAnswer struct {
	Device     string   `json:"device"`
	Request    string   `json:"request,omitempty"`
	State      string   `json:"state"`
	Attributes []Fact   `json:"attributes,omitempty"`
	Taints     []string `json:"taints,omitempty"`
	Holders    []Holder `json:"holders,omitempty"`
}

// Moment is something that happened.
type Moment struct {
	Time metav1.Time `json:"time"`
	What string      `json:"what"`
}

// Help is something that would help.
type Help struct {
	What     string   `json:"what"`
	Commands []string `json:"commands,omitempty"`
}

func (r *Report) fact(name, value string) {
	if value != "" {
		r.Facts = append(r.Facts, Fact{Name: name, Value: value})
	}
}

// help adds what would help, once.
func (r *Report) help(what string, commands ...string) {
	for i := range r.Help {
		if r.Help[i].What == what {
			r.Help[i].Commands = appendNew(r.Help[i].Commands, commands...)
			return
		}
	}
	r.Help = append(r.Help, Help{What: what, Commands: commands})
}
