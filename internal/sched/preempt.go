package sched

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// Making room for a unit that has no place (R36): who is less important leaves, if the unit can be placed after that,
// and nobody otherwise. Whether it can be is tried, not calculated: the victims are taken out of the State, claims
// that nobody is left to use are freed, and the unit is placed as always.
//
//   - Pods that are ending already, and claims that their controller is about to free, count as gone. If that is
//     enough, nobody has to leave.
//   - A victim is a pod, or a PodGroup as a whole (victim.go). It has a lower priority than the unit.
//   - Of all victims that might help, those are spared that are not needed, the most important first (room.go): no
//     part of the victims that are left would be enough. Only when the step budget is spent may some be left that
//     another search would spare.
//   - A pod needs room on one node, some groups in one domain. What that would cost is estimated for all of these by counting
//     (estimate.go); the cheapest is tried first, and others as long as one promises less than the best that was found.
//   - A claim is freed with its last consumer, and never one that something other than a pod or a PodGroup holds. One
//     that a PodGroup holds is given back by the scheduler once no pod of the group is left (leave.go).

// Preemption is how room is made for a unit.
type Preemption struct {
	Unit     model.UnitKey
	Priority int32
	Plan     *Plan // where the unit goes then
	// Victims have to leave, the least important first. Without any, the unit waits for those who are ending already.
	Victims []Victim
	// Recalls are claims of groups to be given back, once no pod on a node uses them.
	Recalls []Recall
	// Violations are victims that a PodDisruptionBudget protects.
	Violations int
	// Until is when the last of the pods that are ending should be gone; zero if none is.
	Until time.Time
}

// Victim has to leave: some pods, or all of a group.
type Victim struct {
	Whole    *model.Group // the PodGroup, if all of it leaves
	Priority int32
	Pods     []*model.Pod // by name
}

// Recall is a claim that loses its devices and all its consumers.
type Recall struct {
	Claim     model.Key
	UID       types.UID
	Consumers []model.Consumer
}

// Groups counts the PodGroups that have to leave as a whole.
func (p *Preemption) Groups() int {
	n := 0
	for i := range p.Victims {
		if p.Victims[i].Whole != nil {
			n++
		}
	}
	return n
}

// Pods counts the pods that have to leave.
func (p *Preemption) Pods() int {
	n := 0
	for i := range p.Victims {
		n += len(p.Victims[i].Pods)
	}
	return n
}

// preemptShare is how much more than placing a unit the search for room for it may cost.
const preemptShare = 2

// Patience is how long pods may be overdue and still count as about to be gone.
const Patience = 30 * time.Second

// Moment is what the State does not know of the present.
type Moment struct {
	Now time.Time // says which pods should have been gone for long
	// Leaving says whether a pod is being made to leave; nil if none is.
	Leaving func(*model.Pod) bool
}

// Preempt finds out how room can be made for a unit that was placed in vain. It is nil if that cannot be; why is noted
// in the reasons. The budget is that of the slice which the reasons are from; they may become Unfinished.
func (p *Placer) Preempt(unit *model.Unit, reasons *Reasons, at Moment) *Preemption {
	fails := reasons.Code == CodeUnschedulable || reasons.Code == CodeLeftOver
	if !fails || unit.HalfBound || len(unit.Pods) == 0 {
		return nil
	}
	switch below := p.state.Pods.AnyBelow(unit.Priority); {
	case unit.Never && below:
		reasons.Preemption = &reason.PreemptionResult{Never: true}
		return nil
	case !unit.Never && !below && unit.Priority > 0:
		mayHaveRoom(reasons, p.state, unit) // once there are others
		return nil
	case !below:
		return nil
	}
	if pods, known := p.refusedBefore(unit); known {
		mayHaveRoom(reasons, p.state, unit)
		reasons.Preemption = &reason.PreemptionResult{Pods: pods}
		return nil
	}
	tx := p.state.Begin()
	defer tx.Undo()
	p.state.Nominations.StepAside(unit)
	r := &room{
		placer: p, state: p.state, tx: tx, unit: unit, steps: reasons.Limit, left: preemptShare * reasons.Limit,
		budgets: map[*model.Pod][]*model.Budget{},
	}
	r.gather(at)
	if r.binding {
		reasons.Further = append(reasons.Further, model.Topic{Kind: model.TopicPods})
	}
	if len(r.victims) == 0 && !r.ending {
		mayHaveRoom(reasons, p.state, unit)
		return nil
	}
	r.base = tx.Mark()
	made := r.make()
	switch {
	case r.left <= 0 && reasons.Limit < p.steps:
		reasons.Unfinished = true // victims might be chosen of which a longer search would spare some
		return nil
	case made != nil:
		reasons.Preemption = &reason.PreemptionResult{Leaving: made.Pods(), Waits: true}
	case r.lower > 0:
		mayHaveRoom(reasons, p.state, unit)
		reasons.Preemption = &reason.PreemptionResult{Pods: r.lower, Undecided: r.left <= 0}
		p.refuse(unit, reasons.Preemption)
	}
	return made
}

// refusal is that no room could be made for a pod, at a certain state of things.
type refusal struct {
	nodes, occupied uint64
	priority        int32
	pods            int // of lower priority
}

// refusedBefore says whether no room could be made for a pod that is alike and no less important, and nothing has happened
// since: a thousand pods that are tried one after the other are not each to cost what the first one does.
func (p *Placer) refusedBefore(unit *model.Unit) (pods int, known bool) {
	if !p.plain(unit) {
		return 0, false
	}
	r, known := p.refused[unit.Pods[0].Shape.ID]
	known = known && r.nodes == p.state.Nodes.Version() && r.occupied == p.state.Pods.Occupied() && r.priority == unit.Priority
	return r.pods, known
}

func (p *Placer) refuse(unit *model.Unit, o *reason.PreemptionResult) {
	if !p.plain(unit) || o.Undecided {
		return
	}
	if len(p.refused) >= nodefit.MaxShapes {
		clear(p.refused)
	}
	p.refused[unit.Pods[0].Shape.ID] = refusal{
		nodes: p.state.Nodes.Version(), occupied: p.state.Pods.Occupied(), priority: unit.Priority, pods: o.Pods,
	}
}

// plain says whether all that matters of a unit is the shape of its one pod, without the labels.
func (p *Placer) plain(unit *model.Unit) bool {
	pod := unit.Pods[0]
	return len(unit.Pods) == 1 && pod.Group == "" && len(pod.Mounts) == 0 && !p.state.Terms.Any() && !usesClaims(p.state, pod)
}

// mayHaveRoom has the unit wait for what could help beyond its being placed as things are: when one of those leaves who are
// no less important, it may be enough if others are made to. And who has devices without a node can be made to leave as soon as it
// has one.
func mayHaveRoom(r *Reasons, state *model.State, unit *model.Unit) {
	r.Preemptor, r.NoRoom = unit, false
	r.Further = append(r.Further, model.Topic{Kind: model.TopicRoom}, model.Topic{Kind: model.TopicNodes})
	r.Further = append(r.Further, r.Dependencies...)
	if !slices.ContainsFunc(unit.Pods, func(pod *model.Pod) bool { return usesClaims(state, pod) }) {
		return
	}
	r.Further = append(r.Further, model.Topic{Kind: model.TopicDevices})
	if podsToComeHaveDevices(state) {
		r.Further = append(r.Further, model.Topic{Kind: model.TopicPods})
	}
}

// podsToComeHaveDevices says whether devices are reserved for a pod that has no node: one that waits for them to be ready, or that a
// scheduler left which ended before it bound the pod.
func podsToComeHaveDevices(state *model.State) (found bool) {
	state.Claims.Each(func(claim *model.Claim) bool {
		if claim.Allocation == nil {
			return true
		}
		found = slices.ContainsFunc(claim.Consumers, func(c model.Consumer) bool {
			pod, ok := state.Pods.Get(model.Key{Namespace: claim.Key.Namespace, Name: c.Name})
			return ok && pod.Node == "" && c == model.PodConsumer(c.Name, pod.UID)
		})
		return !found
	})
	return found
}

// make makes room for the whole unit, or for as many of its pods as it can where each stands alone.
func (r *room) make() *Preemption {
	p := &Preemption{Unit: r.unit.Key, Priority: r.unit.Priority, Until: r.until}
	units := []*model.Unit{r.unit}
	if r.unit.Min == 1 {
		units = alone(r.unit)
	}
	var victims []*victim
	hopeless := map[string]bool{} // shapes
	for _, unit := range units {
		pod := unit.Pods[0]
		plain := len(unit.Pods) == 1 && len(pod.Mounts) == 0 && !r.state.Terms.Any() && !usesClaims(r.state, pod)
		if r.left <= 0 || plain && hopeless[pod.Shape.ID] {
			continue
		}
		found := r.find(unit)
		if found == nil {
			hopeless[pod.Shape.ID] = plain
			continue
		}
		victims = append(victims, found.victims...)
		p.Recalls = append(p.Recalls, found.recalls...)
		p.Plan = p.Plan.with(found.plan)
		r.settle(found)
	}
	if p.Plan == nil {
		return nil
	}
	p.Violations = r.violations(victims)
	p.Victims = r.evictions(victims)
	return p
}

// alone are units of one pod each.
func alone(unit *model.Unit) []*model.Unit {
	units := make([]*model.Unit, len(unit.Pods))
	for i, pod := range unit.Pods {
		one := *unit
		one.Pods = []*model.Pod{pod}
		units[i] = &one
	}
	return units
}

// settle leaves what was found in the trial, for the pods that follow.
func (r *room) settle(found *found) {
	r.tx.UndoTo(r.base)
	r.remove(found.victims)
	found.plan.Assume(r.state)
	r.base = r.tx.Mark()
	for _, v := range found.victims {
		if g := v.gang; g != nil {
			g.surplus--
			g.victims = slices.DeleteFunc(g.victims, func(other *victim) bool { return other == v })
		}
	}
	r.victims = slices.DeleteFunc(r.victims, func(v *victim) bool { return slices.Contains(found.victims, v) })
}

// with is both plans together.
func (p *Plan) with(more *Plan) *Plan {
	if p == nil {
		return more
	}
	p.Pods = append(p.Pods, more.Pods...)
	p.Claims = append(p.Claims, more.Claims...)
	slices.SortFunc(p.Pods, func(a, b Placement) int { return compareKeys(a.Pod, b.Pod) })
	return p
}

// evictions are the victims of which pods have to leave. The single pods of a gang are one if all of them do.
func (r *room) evictions(victims []*victim) []Victim {
	var list []Victim
	gangs := map[*gang][]*model.Pod{} // those of their pods that leave
	for _, v := range victims {
		if v.gang != nil {
			gangs[v.gang] = append(gangs[v.gang], v.pods...)
		}
	}
	for _, v := range victims {
		switch pods := gangs[v.gang]; {
		case v.idle():
		case v.gang != nil && len(pods) == v.gang.size:
			if pods[0] == v.pods[0] { // the first of them stands for all
				list = append(list, Victim{Whole: r.groupOf(v), Priority: v.priority, Pods: pods})
			}
		case v.whole:
			list = append(list, Victim{Whole: r.groupOf(v), Priority: v.priority, Pods: v.pods})
		default:
			list = append(list, Victim{Priority: v.priority, Pods: v.pods})
		}
	}
	return list
}

func (r *room) groupOf(v *victim) *model.Group {
	group, _ := r.state.Groups.Get(v.group)
	return group
}

// Nomination is what keeps the unit's place until the victims are gone.
func (p *Preemption) Nomination(state *model.State) *model.Nomination {
	n := &model.Nomination{Unit: p.Unit, Priority: p.Priority}
	for i := range p.Plan.Pods {
		placement := &p.Plan.Pods[i]
		pod, ok := state.Pods.Get(placement.Pod)
		if !ok {
			continue
		}
		// It takes room and keeps off whom the pod keeps off; that nobody relies on its company is why it has no labels.
		shape := *pod.Shape
		shape.Labels = nil
		n.Pods = append(n.Pods, &model.Pod{
			Key: keptFor(pod.Key), UID: "kept-for-" + pod.UID, Priority: p.Priority, Created: pod.Created, Started: pod.Created, Shape: &shape,
			Node: placement.Node, Draws: placement.Draws, Foreign: true, StandIn: true,
		})
	}
	for i := range p.Plan.Claims {
		claim := &p.Plan.Claims[i]
		if claim.Allocation != nil {
			n.Devices = append(n.Devices, model.DeviceReservation{Claim: claim.Key, Allocation: claim.Allocation})
		}
	}
	for _, recall := range p.Recalls {
		n.Recalled = append(n.Recalled, recall.Claim)
	}
	return n
}

// KeptNodes returns the nodes on which a nomination keeps places for pods, by pod.
func KeptNodes(n *model.Nomination, pods []*model.Pod) map[model.Key]string {
	at := make(map[model.Key]string, len(n.Pods))
	for _, standIn := range n.Pods {
		at[standIn.Key] = standIn.Node
	}
	nodes := make(map[model.Key]string, len(n.Pods))
	for _, pod := range pods {
		if node, ok := at[keptFor(pod.Key)]; ok {
			nodes[pod.Key] = node
		}
	}
	return nodes
}

// KeptNode is the node on which a nomination keeps the place of a pod, "" if it does not.
func KeptNode(n *model.Nomination, pod model.Key) string {
	for _, standIn := range n.Pods {
		if standIn.Key == keptFor(pod) {
			return standIn.Node
		}
	}
	return ""
}

// keptFor names a stand-in, so that reasons that name who holds a device can be understood. No object has such a name.
func keptFor(key model.Key) model.Key {
	return model.Key{Namespace: key.Namespace, Name: key.Name + " (its place is kept)"}
}

// found is room for a unit.
type found struct {
	victims []*victim // in the order in which they leave
	recalls []Recall
	plan    *Plan
	cost    cost
}

// cost compares ways to make room.
type cost struct {
	violations int
	highest    int64 // priority; below all others without victims
	groups     int
	pods       int
	sum        int64 // of priorities, over the pods
	started    time.Time
}

func (c cost) compare(other cost) int {
	return cmp.Or(
		cmp.Compare(c.violations, other.violations), cmp.Compare(c.highest, other.highest), cmp.Compare(c.groups, other.groups),
		cmp.Compare(c.pods, other.pods), cmp.Compare(c.sum, other.sum), other.started.Compare(c.started),
	)
}
