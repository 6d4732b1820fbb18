package explain

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// deviceHolders returns what holds a device, with its consumers.
func (a *attempt) deviceHolders(device model.DeviceID, by model.Holder) []Holder {
	switch by.Kind {
	case model.ByQuarantine, model.ByReservation:
		return []Holder{{Held: device.String(), Claim: by.String()}}
	}
	claim := a.claims[by.Claim]
	if claim == nil {
		return []Holder{{Held: device.String(), Claim: by.Claim.String()}}
	}
	return a.holdersOf(claim, a.unit, device.String())
}

// holdersOf returns what holds something through a claim, and whether it can be preempted for a
// unit, which may be nil.
func (e *Explainer) holdersOf(claim *resource.ResourceClaim, unit *model.Unit, held string) []Holder {
	h := Holder{Held: held, Claim: model.KeyOf(claim).String(), Since: e.ago(allocatedAt(claim))}
	if allocation := claim.Status.Allocation; allocation == nil {
		h.Since = ""
	}
	v := verdict{unit: unit}
	for i := range claim.Status.ReservedFor {
		if text := e.consumerText(claim.Namespace, claim.Status.ReservedFor[i], &v); i < maxHolders {
			h.Consumers = append(h.Consumers, text)
		}
	}
	if more := len(claim.Status.ReservedFor) - maxHolders; more > 0 {
		h.Consumers = append(h.Consumers, fmt.Sprintf("%d more", more))
	}
	switch {
	case len(claim.Status.ReservedFor) == 0 && claim.DeletionTimestamp != nil:
		h.Preemption = "the claim is being deleted, and its devices become free then"
	case len(claim.Status.ReservedFor) == 0:
		h.Preemption = "no pod uses it: the claim is about to be freed, or was allocated by hand"
	case unit != nil:
		h.Preemption = v.text()
	}
	return []Holder{h}
}

// allocatedAt returns when a claim got its devices; zero if that is not recorded.
func allocatedAt(claim *resource.ResourceClaim) metav1.Time {
	if allocation := claim.Status.Allocation; allocation != nil && allocation.AllocationTimestamp != nil {
		return *allocation.AllocationTimestamp
	}
	return metav1.Time{}
}

// verdict is whether consumers can be preempted for a unit.
type verdict struct {
	unit    *model.Unit
	lowest  *int32
	highest *int32
	foreign string // a consumer that is neither a pod nor a PodGroup
}

func (v *verdict) add(priority int32) {
	if v.lowest == nil || priority < *v.lowest {
		v.lowest = &priority
	}
	if v.highest == nil || priority > *v.highest {
		v.highest = &priority
	}
}

func (v *verdict) text() string {
	switch {
	case v.foreign != "":
		return "cannot be preempted: its consumer " + v.foreign + " is neither a pod nor a PodGroup"
	case v.highest == nil:
		return ""
	case *v.highest >= v.unit.Priority:
		return fmt.Sprintf("cannot be preempted: priority %d is not lower than %d", *v.highest, v.unit.Priority)
	case v.unit.NeverPreempts:
		return fmt.Sprintf("has a lower priority (%d, not %d), but preemptionPolicy Never rules preemption out", *v.highest,
			v.unit.Priority)
	}
	return fmt.Sprintf("can be preempted: priority %d is lower than %d", *v.highest, v.unit.Priority)
}

// consumerText describes an entry of status.reservedFor.
func (e *Explainer) consumerText(namespace string, consumer model.Consumer, v *verdict) string {
	key := model.Key{Namespace: namespace, Name: consumer.Name}
	switch {
	case model.IsPodConsumer(consumer):
		pod := e.podByUID(key, consumer.UID)
		if pod == nil {
			return "pod " + key.String() + " (does not exist any more)"
		}
		v.add(ptr.Deref(pod.Spec.Priority, 0))
		return "pod " + key.String() + " " + e.podState(pod)
	case consumer.Resource == "podgroups":
		group := e.groups[key]
		if group == nil || group.UID != consumer.UID {
			return "PodGroup " + key.String() + " (does not exist any more)"
		}
		running, priority := 0, int32(0)
		for _, pod := range e.members[key] {
			if pod.Spec.NodeName != "" && !pod.Finished() {
				running++
			}
			priority = max(priority, ptr.Deref(pod.Spec.Priority, 0))
		}
		priority = ptr.Deref(group.Spec.Priority, priority)
		v.add(priority)
		return fmt.Sprintf("PodGroup %s (%d of %s on nodes, priority %d%s)", key, running, count(len(e.members[key]), "pod"),
			priority, e.owner(e.members[key]))
	}
	v.foreign = fmt.Sprintf("%s %s", strings.Trim(consumer.Resource+"."+consumer.APIGroup, "."), consumer.Name)
	return v.foreign
}

// owner names the controller of a group's pods.
func (e *Explainer) owner(members []*core.Pod) string {
	for _, pod := range members {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			return ", of " + owner.Kind + " " + owner.Name
		}
	}
	return ""
}

// podState describes a pod that uses something.
func (e *Explainer) podState(pod *core.Pod) string {
	state := cmp.Or(string(pod.Status.Phase), "Pending")
	if pod.DeletionTimestamp != nil {
		state = "Terminating since " + e.ago(*pod.DeletionTimestamp)
	}
	if pod.Spec.NodeName != "" {
		state += " on " + pod.Spec.NodeName
	}
	text := fmt.Sprintf("%s, priority %d", state, ptr.Deref(pod.Spec.Priority, 0))
	return "(" + text + e.owner([]*core.Pod{pod}) + ")"
}

// podText describes a pod of the State that uses resources of a node.
func (e *Explainer) podText(pod *model.Pod) string {
	if known := e.pods[pod.Key]; known != nil {
		return "pod " + pod.Key.String() + " " + e.podState(known)
	}
	return "pod " + pod.Key.String()
}

// preemptible describes whether a pod can be preempted for the unit.
func (a *attempt) preemptible(pod *model.Pod) string {
	v := verdict{unit: a.unit}
	priority := pod.Priority
	if group, ok := a.view.state.Groups.Get(pod.GroupKey()); ok && pod.Group != "" && group.Priority != nil {
		priority = *group.Priority
	}
	v.add(priority)
	return v.text()
}

// untaint returns commands that remove what taints a device.
func (a *attempt) untaint(device model.DeviceID) []string {
	var commands []string
	for _, rule := range a.snap.Objects.TaintRules {
		r := model.TaintRuleFrom(rule)
		selects := r.Selects && (r.Driver == "" || r.Driver == device.Driver) && (r.Pool == "" || r.Pool == device.Pool) &&
			(r.Device == "" || r.Device == device.Device)
		if selects && model.PreventsAllocation(&r.Taint) {
			commands = append(commands, kubectl("delete", "devicetaintrule", model.Key{Name: rule.Name}))
		}
	}
	return commands
}
