package picture

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/model"
)

// Unit is a PodGroup, or a pod without one that waits or uses claims.
type Unit struct {
	Ref
	key string

	State State `json:"state"`
	// Wanted is the minCount of a gang; 0 for a basic group and for a pod.
	Wanted int32     `json:"wanted,omitempty"`
	Pods   PodCounts `json:"pods"`
	// Priority is that of the group, else the highest of its pods.
	Priority int32 `json:"priority,omitempty"`
	// Reason is why the unit waits, as in its condition, cut to maxReason bytes; "" if its condition
	// says nothing.
	Reason string `json:"reason,omitempty"`
	// Since is since when it waits, for a unit that waits.
	Since *metav1.Time `json:"since,omitempty"`
}

// Key identifies the unit in the list.
func (u *Unit) Key() string { return u.key }

func (u *Unit) equal(other *Unit) bool {
	return u.key == other.key && u.State == other.State && u.Wanted == other.Wanted && u.Pods == other.Pods &&
		u.Priority == other.Priority && u.Reason == other.Reason && u.Since.Equal(other.Since)
}

// PodCounts counts the pods of a unit.
type PodCounts struct {
	Waiting     int `json:"waiting,omitempty"`
	Gated       int `json:"gated,omitempty"`
	Starting    int `json:"starting,omitempty"`
	Running     int `json:"running,omitempty"`
	Terminating int `json:"terminating,omitempty"`
	Finished    int `json:"finished,omitempty"`
}

func (c *PodCounts) add(pod *core.Pod) {
	switch {
	case pod.Finished():
		c.Finished++
	case pod.DeletionTimestamp != nil:
		c.Terminating++
	case pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodRunning:
		c.Running++
	case pod.Spec.NodeName != "":
		c.Starting++
	case len(pod.Spec.SchedulingGates) > 0:
		c.Gated++
	default:
		c.Waiting++
	}
}

// state returns the state of a unit with these pods.
func (c *PodCounts) state() State {
	waiting, placed := c.Waiting+c.Gated, c.Starting+c.Running
	switch {
	case waiting > 0 && placed > 0:
		return PartlyPlaced
	case waiting > 0:
		return Waiting
	case placed > 0:
		return Placed
	case c.Terminating > 0:
		return Terminating
	case c.Finished > 0:
		return Finished
	}
	return Waiting // for its pods to be created
}

// maxReason limits the length of a reason. Messages of conditions can have 32 KiB.
const maxReason = 300

// unitOfGroup returns the unit of a PodGroup without its pods.
func unitOfGroup(group *scheduling.PodGroup) *Unit {
	u := newUnit("podgroup", model.Key{Namespace: group.Namespace, Name: group.Name})
	if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
		u.Wanted = gang.MinCount
	}
	u.Priority = ptr.Deref(group.Spec.Priority, 0)
	u.Since = &group.CreationTimestamp
	for i := range group.Status.Conditions {
		if c := &group.Status.Conditions[i]; c.Type == scheduling.PodGroupScheduled && c.Status == metav1.ConditionFalse {
			u.Reason, u.Since = shortMessage(c.Message), &c.LastTransitionTime
		}
	}
	return u
}

// unitOfPod returns the unit of a pod that is scheduled by itself.
func unitOfPod(pod *core.Pod) *Unit {
	u := newUnit("pod", model.Key{Namespace: pod.Namespace, Name: pod.Name})
	u.Since = &pod.CreationTimestamp
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			u.Reason, u.Since = shortMessage(c.Message), &c.LastTransitionTime
		}
	}
	u.add(pod)
	return u
}

func newUnit(kind string, key model.Key) *Unit {
	u := &Unit{Ref: Ref{Kind: kind, Namespace: key.Namespace, Name: key.Name}}
	u.key = u.Ref.Key()
	return u
}

// add counts a pod of the unit.
func (u *Unit) add(pod *core.Pod) {
	u.Pods.add(pod)
	u.Priority = max(u.Priority, ptr.Deref(pod.Spec.Priority, 0))
}

// conclude sets the state from the pods. Only what waits has a reason.
func (u *Unit) conclude(deleting bool) {
	u.State = u.Pods.state()
	if deleting {
		u.State = Terminating
	}
	if u.State != Waiting && u.State != PartlyPlaced {
		u.Reason, u.Since = "", nil
		return
	}
	if u.Reason == "" && u.Pods == (PodCounts{}) {
		u.Reason = "it has no pods"
	}
	if u.Since.IsZero() {
		u.Since = nil
	}
}

// shortMessage returns a message in one line, cut to maxReason bytes.
func shortMessage(message string) string {
	text := strings.Join(strings.Fields(message), " ")
	if len(text) <= maxReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxReason], "") + "…"
}
