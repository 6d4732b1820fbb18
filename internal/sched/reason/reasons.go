package reason

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// Code is the way in which a unit was not placed.
type Code string

// A unit waits for its PodGroup, for more members, for scheduling gates of members, or for claims;
// or it was tried and does not fit; or the search ended undecided. LeftOver is in addition to a
// plan: enough pods were placed, but not all.
const (
	GroupMissing  Code = "GroupMissing"
	BelowQuorum   Code = "BelowQuorum"
	Gated         Code = "Gated"
	Waiting       Code = "Waiting"
	Unschedulable Code = "Unschedulable"
	Undecided     Code = "Undecided"
	LeftOver      Code = "LeftOver"
)

// Reasons has the reasons why pods of a unit were not placed.
type Reasons struct {
	Attempt
	Wakes

	Unit   model.UnitKey
	Code   Code
	Min    int    // how many pods had to be placed together
	Placed int    // the most that could be
	Quorum Quorum // quorum of a gang
	Gates  string // names the members with scheduling gates that hold the group

	// Constraints are shared claims that restricted the pods to certain nodes in the best attempt.
	Constraints []NodeConstraint
	// Pods are the reasons of pods that are alike, given the places of the others.
	Pods     []PodReasons
	Topology Topology

	// Preemption is the result of preemption for the unit; nil if it was not tried, or no pod has a
	// lower priority.
	Preemption *PreemptionResult
	// Priority is a hint that the group's priority counts, if pods of it have a higher one, or "".
	Priority string

	broken    string   // fault of devices that the unit has
	elsewhere *Reasons // why it cannot be placed without these devices either
}

// Attempt is the result of an attempt to place a unit.
type Attempt struct {
	Tree  string // part of a tree of groups that was placed, and the group that was not, or ""
	Limit int    // limit of steps
	Steps int    // spent, if the search is undecided
	// Unfinished reports that the limit of a slice did not suffice, and that the next one has a
	// larger one.
	Unfinished bool
	// Costly reports that expressions cost too much to be evaluated in one attempt. The next one
	// continues with them.
	Costly bool
}

// Quorum is the number of pods that a gang must have, and its pods.
type Quorum struct {
	MinCount int
	Census   model.Census
}

// Topology is the result for a group that has to be in one domain of a node label.
type Topology struct {
	Label    string      // "" if the group does not have to
	Fixed    string      // the domain of its bound pods
	Conflict string      // why bound pods do not have one domain
	Domains  []DomainFit // domains in the order in which they were tried
}

// DomainFit is the maximum number of a unit's pods that fit into one domain.
type DomainFit struct {
	Value string
	Fits  int
}

// NodeConstraint is the nodes from which the devices of a shared claim can be used.
type NodeConstraint struct {
	Claim model.Key
	Where string
}

// PodReasons has the reasons why some equal pods were not placed. One of Blocker, Alloc and
// Failures is set.
type PodReasons struct {
	Pods     []model.Key
	Blocker  *Blocker      // why they cannot be tried
	Alloc    *alloc.Reason // why their claims cannot be allocated on any node
	Nodes    int           // nodes that were examined
	Failures []NodeFailure // failed checks of nodes, the most frequent first
}

// Blocker is the reason why a pod cannot be tried at all.
type Blocker struct {
	Text   string
	Topics []model.Topic // after which it may be tried
}

// NodeFailure is a check that nodes failed.
type NodeFailure struct {
	Check  nodefit.Check
	Detail string
	Nodes  int
	// Closest is the node on which the least was missing.
	Closest string
	Lacking int64         // lacking amount of a resource
	Alloc   *alloc.Reason // why claims cannot be allocated there
	Claim   model.Key     // claim that cannot be used there
	Volume  string        // PersistentVolume that cannot be used there
	// Examples are the first of these nodes, by name; at most maxExamples.
	Examples []NodeExample
	Pools    []string // pools of any of the nodes that cannot be used, and why
}

// NodeExample is one of the nodes that failed a check, with what is missing there.
type NodeExample struct {
	Node    string
	Lacking int64         // lacking amount of a resource
	Alloc   *alloc.Reason // why claims cannot be allocated
}

// maxExamples limits the nodes that a NodeFailure lists, because reasons are kept while units wait.
const maxExamples = 8

// AddBlocked adds a pod that cannot be tried.
func (r *Reasons) AddBlocked(pod model.Key, blocker Blocker) {
	for i := range r.Pods {
		if known := r.Pods[i].Blocker; known != nil && known.Text == blocker.Text {
			r.Pods[i].Pods = append(r.Pods[i].Pods, pod)
			return
		}
	}
	r.Pods = append(r.Pods, PodReasons{Pods: []model.Key{pod}, Blocker: &blocker})
}

// Stay records why a unit keeps the devices with which it was not placed: broken is what is wrong
// with them, or "", and elsewhere why the unit cannot be placed without them either, or nil.
func (r *Reasons) Stay(broken string, elsewhere *Reasons) {
	r.broken = broken
	if elsewhere == nil {
		return
	}
	if broken != "" {
		r.elsewhere = elsewhere
	}
	r.Further = append(r.Further, elsewhere.Topics()...)
	r.Shapes = append(r.Shapes, elsewhere.Shapes...)
	r.LacksDevices = false
}
