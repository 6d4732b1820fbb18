package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// Elsewhere reports whether a unit that was not placed can be placed if claims lose their devices;
// the reasons are why not. The budget is that of the slice of the given reasons. The State is as
// before.
func (p *Placer) Elsewhere(unit *model.Unit, reasons *Reasons, claims []model.Key) (bool, *Reasons) {
	tx := p.state.Begin()
	defer tx.Undo()
	for _, key := range claims {
		p.state.Claims.RemoveConsumers(key, func(model.Consumer) bool { return true })
	}
	plan, elsewhere := p.placeIn(tx, unit, cmp.Or(reasons.Limit, p.steps))
	return plan != nil, elsewhere
}

// Broken returns what is wrong with the devices of a claim for the pods of a unit, "" if nothing is.
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

// namedDevices is how many devices a reason names.
const namedDevices = 3

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

// User returns a pod that is on a node and uses a claim, or nil. Pods of a group use its claims before their status
// names them. A pod that is being deleted on a node that cannot be reached does not use devices of that node alone:
// no other claim can get them, and the node ends the pod when it is back.
func (p *Placer) User(unit *model.Unit, key model.Key) *model.Pod { return userOf(p.state, unit, key) }

func userOf(state *model.State, unit *model.Unit, key model.Key) *model.Pod {
	claim, _ := state.Claims.Get(key)
	home, tied := nodefit.TiedNode(claim.Allocation.NodeSelector)
	uses := func(pod *model.Pod) bool {
		return pod.Counts() && !(pod.Deleting && tied && pod.Node == home && unreachable(state, home))
	}
	if unit.Group != nil && slices.Contains(unit.Group.Claims, key.Name) {
		for _, pod := range state.Groups.Members(unit.Group.Key) {
			if uses(pod) {
				return pod
			}
		}
	}
	for _, info := range state.Nodes.List() {
		for _, pod := range info.Pods {
			if pod.Key.Namespace == key.Namespace && uses(pod) && usesClaim(pod, key.Name) {
				return pod
			}
		}
	}
	return nil
}

// unreachable reports whether pods are evicted from a node because it gives no sign of life.
func unreachable(state *model.State, name string) bool {
	info, ok := state.Nodes.Get(name)
	return ok && slices.ContainsFunc(info.Node.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnreachable && t.Effect == corev1.TaintEffectNoExecute
	})
}

// damaged returns a Blocker if a claim has a device that is tainted or not published any more,
// unless running pods use it.
func (j *job) damaged(key model.Key) *reason.Blocker {
	claim, _ := j.state.Claims.Get(key)
	text := j.state.Devices.DamageReason(claim)
	if text == "" || userOf(j.state, j.unit, key) != nil {
		return nil
	}
	return &reason.Blocker{
		Text:   fmt.Sprintf("claim %s has %s", key, text),
		Topics: []model.Topic{{Kind: model.TopicClaim, Key: key}, {Kind: model.TopicDevices}},
	}
}
