package sched

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/placement"
)

// Elsewhere reports whether a unit that was not placed can be placed if claims lose their devices
// and survivors, members of the unit that run, are replaced by pods that wait; the reasons are why
// not. The budget is that of the slice of the given reasons. The State is as before.
func (p *Placer) Elsewhere(
	unit *model.Unit, reasons *Reasons, claims []model.Key, survivors []*model.Pod,
) (bool, *Reasons) {
	tx := p.state.Begin()
	defer tx.Undo()
	for _, pod := range survivors {
		claims = append(claims, p.replaceByWaiting(pod)...)
	}
	if len(survivors) > 0 {
		// Without the survivors, it may be the unit's tree that is not placed.
		unit, _ = p.state.Unit(p.state.UnitOf(unit.Key))
	}
	for _, key := range claims {
		p.state.Claims.RemoveConsumers(key, func(model.Consumer) bool { return true })
	}
	made, elsewhere := p.placeIn(tx, unit, cmp.Or(reasons.Limit, p.steps))
	return made != nil, elsewhere
}

// replaceByWaiting replaces a pod in the trial by one that waits, and returns the claims that no other pod
// needs then.
func (p *Placer) replaceByWaiting(pod *model.Pod) []model.Key {
	again := *pod
	again.Node, again.Draws, again.Extended, again.Mapped = "", nil, "", false
	p.state.Pods.Delete(pod.Key)
	p.state.Pods.Put(&again)
	var own []model.Key
	for i := range pod.Claims {
		if use := &pod.Claims[i]; use.Owner == pod.UID && pod.UID != "" {
			own = append(own, model.Key{Namespace: pod.Key.Namespace, Name: use.Claim})
		}
	}
	return own
}

// FitsSoon reports whether a unit that was not placed can be placed with the devices that it has
// when the pods that are being deleted have terminated. Those on nodes that cannot be reached do
// not terminate. The State is as before.
func (p *Placer) FitsSoon(unit *model.Unit, reasons *Reasons) (bool, *Reasons) {
	tx := p.state.Begin()
	defer tx.Undo()
	var ending []model.Key
	for _, info := range p.state.Nodes.List() {
		for _, pod := range info.Pods {
			if pod.Deleting && !placement.Unreachable(p.state, info.Name) {
				ending = append(ending, pod.Key)
			}
		}
	}
	if len(ending) == 0 {
		return false, reasons
	}
	for _, key := range ending {
		p.state.Pods.Delete(key)
	}
	made, then := p.placeIn(tx, unit, cmp.Or(reasons.Limit, p.steps))
	return made != nil, then
}

// Broken returns why the devices of a claim cannot be used by the pods of a unit, or "".
func (p *Placer) Broken(unit *model.Unit, claim *model.Claim) string {
	if text := p.state.Devices.DamageReason(claim); text != "" {
		return fmt.Sprintf("claim %s has %s", claim.Key, text)
	}
	if claim.Allocation.NodeSelector == nil || len(unit.Pods) == 0 {
		return ""
	}
	selector := nodeaffinity.NewLazyErrorNodeSelector(claim.Allocation.NodeSelector)
	shape := nodefit.New(p.state, unit.Pods[0].Shape)
	known, bad := 0, []string(nil)
	for _, info := range p.state.Nodes.List() {
		if match, err := selector.Match(info.API()); err != nil || !match {
			continue
		}
		known++
		switch m := shape.Static(info); m.Check {
		case nodefit.CheckUnschedulable:
			bad = append(bad, fmt.Sprintf("node %s, which is unschedulable", info.Name))
		case nodefit.CheckTaint:
			bad = append(bad, fmt.Sprintf("node %s, which has the taint %s", info.Name, m.Detail))
		}
	}
	if known == 0 {
		where := "nodes that do not exist"
		if name, ok := nodefit.TiedNode(claim.Allocation.NodeSelector); ok {
			where = fmt.Sprintf("node %s, which does not exist", name)
		}
		bad = append(bad, where)
	}
	if len(bad) == 0 {
		return ""
	}
	return fmt.Sprintf("claim %s has %s of %s", claim.Key, devicesOf(claim), strings.Join(bad, ", and of "))
}

// namedDevices is the largest number of devices that a reason names.
const namedDevices = 3

// devicesOf returns the devices of a claim as text.
func devicesOf(claim *model.Claim) string {
	var names []string
	for i, result := range claim.Allocation.Devices {
		if i == namedDevices {
			names = append(names, fmt.Sprintf("%d more", len(claim.Allocation.Devices)-i))
			break
		}
		names = append(names, model.DeviceIDOf(result).String())
	}
	if len(names) == 1 {
		return "device " + names[0]
	}
	return "devices " + strings.Join(names, ", ")
}

// User returns a pod that is on a node and uses a claim, or nil; see placement.PodUsing. Survivors
// do not count.
func (p *Placer) User(unit *model.Unit, key model.Key, survivors []*model.Pod) *model.Pod {
	return placement.PodUsing(p.state, unit, key, survivors)
}

// Use describes how a pod that User returned uses a claim, and what has to be done for the claim to
// get other devices.
func (p *Placer) Use(pod *model.Pod) string {
	where := fmt.Sprintf("pod %s on node %s", pod.Key, pod.Node)
	switch {
	case !pod.Deleting:
		return fmt.Sprintf("is used by %s: delete that pod to have other devices allocated", where)
	case placement.Unreachable(p.state, pod.Node):
		return fmt.Sprintf(
			"may still be used by %s, which cannot be reached: delete that Node to have other devices allocated", where,
		)
	}
	return fmt.Sprintf("is used by %s, which is being deleted", where)
}
