package sched

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// Preemption for a unit that was not placed (R36) evicts pods of lower priority if the unit can be
// placed after that, and none otherwise. Whether it can be is tried, not calculated: the victims are
// removed from the State, claims without remaining consumers are freed, and the unit is placed as usual.
//
//   - Pods that terminate already, and claims that their controller is about to free, count as deleted.
//     If that is sufficient, no pod is evicted.
//   - A victim is a pod, or a PodGroup as a whole (victim.go). It has a lower priority than the unit.
//   - Of all victims that might help, those that are not needed are reprieved, the most important first
//     (room.go): no subset of the remaining victims would be sufficient. Only when the step budget is
//     spent may there be some that another search would reprieve.
//   - A pod needs room on one node, some groups in one domain. The cost is estimated for all of these by
//     counting (estimate.go); the cheapest is tried first, and others as long as their estimate is lower
//     than the cost of the best result.
//   - A claim is freed with its last consumer, and never one with a consumer that is neither a pod nor a
//     PodGroup. The claim of a PodGroup is reclaimed by the scheduler once the group has no pods
//     (leave.go).

// Preemption is the result of a successful search for victims for a unit.
type Preemption struct {
	Unit     model.UnitKey
	Priority int32
	Plan     *plan.Plan // where the unit is placed then
	// Victims are evicted, the least important first. Without any, the unit waits for pods that
	// terminate already.
	Victims []Victim
	// Recalls are claims of groups that are reclaimed, once no pod on a node uses them.
	Recalls []Recall
	// Violations counts victims that a PodDisruptionBudget protects.
	Violations int
	// Until is when the last of the terminating pods should be deleted; zero if there are none.
	Until time.Time
}

// Victim is evicted: some pods, or all of a group.
type Victim struct {
	Whole    *model.Group // the PodGroup, if it is evicted as a whole
	Priority int32
	Pods     []*model.Pod // by name
}

// Recall is a claim that loses its devices and all its consumers.
type Recall struct {
	Claim     model.Key
	UID       types.UID
	Consumers []model.Consumer
}

// Groups counts the PodGroups that are evicted as a whole.
func (p *Preemption) Groups() int {
	n := 0
	for i := range p.Victims {
		if p.Victims[i].Whole != nil {
			n++
		}
	}
	return n
}

// Pods counts the pods that are evicted.
func (p *Preemption) Pods() int {
	n := 0
	for i := range p.Victims {
		n += len(p.Victims[i].Pods)
	}
	return n
}

// preemptShare is how much more than placing a unit the search for victims may cost.
const preemptShare = 2

// Patience is how long terminating pods may be overdue and still count as about to be deleted.
const Patience = 30 * time.Second

// Moment is what the State does not have of the present.
type Moment struct {
	Now time.Time // decides which pods should have been deleted long ago
	// Leaving reports whether a pod is being evicted; nil if none is.
	Leaving func(*model.Pod) bool
}

// Preempt searches for victims for a unit that was not placed. It returns nil if there are none
// that help, and adds to the reasons why. The budget is that of the slice of the reasons; they may
// become Unfinished.
func (p *Placer) Preempt(unit *model.Unit, reasons *Reasons, at Moment) *Preemption {
	fails := reasons.Code == CodeUnschedulable || reasons.Code == CodeLeftOver
	if !fails || unit.HalfBound || len(unit.Pods) == 0 {
		return nil
	}
	switch below := p.state.Pods.HasLowerPriority(unit.Priority); {
	case unit.NeverPreempts && below:
		reasons.Preemption = &reason.PreemptionResult{Never: true}
		return nil
	case !unit.NeverPreempts && !below && unit.Priority > 0:
		mayHaveRoom(reasons, p.state, unit) // when there are other pods
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
	p.state.Nominations.RemoveNonBinding(unit)
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
		reasons.Unfinished = true // a longer search might need fewer victims
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

// refusal records that preemption did not help a pod, at certain versions of the State.
type refusal struct {
	nodes, occupied uint64
	priority        int32
	pods            int // of lower priority
}

// refusedBefore reports whether preemption did not help a pod that is alike with the same priority,
// and nothing has changed since: of a thousand pods that are tried one after the other, only the
// first one is costly.
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

// plain reports whether a unit is one pod of which only the shape matters, without the labels.
func (p *Placer) plain(unit *model.Unit) bool {
	pod := unit.Pods[0]
	return len(unit.Pods) == 1 && pod.Group == "" && len(pod.Mounts) == 0 && !p.state.Terms.Any() && !usesClaims(p.state, pod)
}

// mayHaveRoom makes the unit wait for changes that could help preemption: when a pod with the same
// or a higher priority terminates, evicting others may be sufficient. And a pod that has devices
// and no node can be evicted as soon as it has one.
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

// podsToComeHaveDevices reports whether devices are reserved for a pod without a node: it waits for
// them to be ready, or a scheduler ended before it bound the pod.
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

// make searches for the whole unit, or for as many of its pods as possible if they are independent.
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
		p.Plan = p.Plan.Merge(found.plan)
		r.settle(found)
	}
	if p.Plan == nil {
		return nil
	}
	p.Violations = r.violations(victims)
	p.Victims = r.evictions(victims)
	return p
}

// alone returns units of one pod each.
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

// evictions returns the victims with pods to evict. The single pods of a gang are one victim if all
// of them are evicted.
func (r *room) evictions(victims []*victim) []Victim {
	var list []Victim
	gangs := map[*gang][]*model.Pod{} // their evicted pods
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

// Nomination returns what reserves the unit's place until the victims are deleted.
func (p *Preemption) Nomination(state *model.State) *model.Nomination {
	n := &model.Nomination{Unit: p.Unit, Priority: p.Priority}
	for i := range p.Plan.Pods {
		placement := &p.Plan.Pods[i]
		pod, ok := state.Pods.Get(placement.Pod)
		if !ok {
			continue
		}
		// It takes resources and repels the pods that the pod repels. It has no labels: no pod may
		// rely on it.
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
		n.Reclaimed = append(n.Reclaimed, recall.Claim)
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

// KeptNode returns the node on which a nomination keeps the place of a pod, or "".
func KeptNode(n *model.Nomination, pod model.Key) string {
	for _, standIn := range n.Pods {
		if standIn.Key == keptFor(pod) {
			return standIn.Node
		}
	}
	return ""
}

// keptFor names a stand-in, so that reasons that name holders can be understood. No object has such
// a name.
func keptFor(key model.Key) model.Key {
	return model.Key{Namespace: key.Namespace, Name: key.Name + " (its place is kept)"}
}

// found is a set of victims for a unit.
type found struct {
	victims []*victim // in the order in which they are evicted
	recalls []Recall
	plan    *plan.Plan
	cost    cost
}

// cost compares sets of victims.
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
