package sched

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/allot-dev/allot/internal/model"
)

// victim is what may have to leave, as a whole:
//
//   - a pod; also one of a group, unless one of the following holds;
//   - all pods of a group that has the disruption mode All;
//   - all pods of a gang that has no more than minCount: with one less it would be of no use. A gang that has more is
//     made up of single pods, but if too many of them leave, all do;
//   - no pod, but the devices of a group that runs none.
//
// The priority is the group's, where it has one.
type victim struct {
	key      model.Key // of the pod, or the group
	group    model.Key // whose pods or claims these are, if any
	whole    bool      // all of the group
	priority int32
	pods     []*model.Pod
	claims   []model.Key // of a group that runs no pod
	gang     *gang       // that the pod can leave only as long as enough are left
	started  time.Time   // the first of the pods
	violates bool        // a budget, if the less important ones leave, too
	fabric   bool        // holds devices that are not tied to one node
	rank     int         // in order of importance, leaving budgets aside
}

// gang is one that has more pods than it needs.
type gang struct {
	size    int
	victims []*victim // that have not left
	surplus int       // how many of these it can do without
}

// idle reports whether no pod has to be evicted.
func (v *victim) idle() bool { return len(v.pods) == 0 }

// compareVictims orders victims, the least important first.
func compareVictims(a, b *victim) int {
	return cmp.Or(
		compareFlags(b.idle(), a.idle()),
		compareFlags(a.violates, b.violates),
		cmp.Compare(a.priority, b.priority),
		compareFlags(a.grouped(), b.grouped()),
		cmp.Compare(len(a.pods), len(b.pods)),
		b.started.Compare(a.started),
		model.CompareKeys(a.key, b.key),
		compareFlags(a.whole, b.whole),
	)
}

func (v *victim) grouped() bool { return v.group != model.Key{} }

func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// gather removes what is terminating, and lists the possible victims.
func (r *room) gather(at Moment) {
	r.doomed = Doomed
	if at.Leaving != nil {
		r.doomed = func(pod *model.Pod) bool { return Doomed(pod) || at.Leaving(pod) }
	}
	groups := map[model.Key]bool{}
	var going []*model.Pod
	for _, info := range r.state.Nodes.List() {
		for _, pod := range info.Pods {
			switch {
			case pod.StandIn:
			// pods that are being bound are left alone until that is done
			case r.state.Pods.Assumed(pod.Key):
				r.binding = true
			case goes(pod, at.Now) || pod.Group == "" && r.doomed(pod):
				going = append(going, pod)
			case pod.Deleting:
			case pod.Group != "":
				groups[pod.GroupKey()] = true
			default:
				r.offer(&victim{key: pod.Key, priority: pod.Priority, pods: []*model.Pod{pod}})
			}
		}
	}
	for key := range groups {
		going = append(going, r.ofGroup(key)...)
	}
	r.devices = r.wantsDevices()
	r.leave(going)
	if r.devices {
		r.idleClaims()
	}
	for _, v := range r.victims {
		r.lower += len(v.pods)
		v.fabric = r.devices && r.holdsFabric(v)
		r.guarded = r.guarded || len(r.state.Budgets.List(v.key.Namespace)) > 0
	}
	slices.SortFunc(r.victims, compareVictims)
	for i, v := range r.victims {
		v.rank = i
	}
}

// goes reports whether a pod is about to be deleted. A pod that is overdue for long is not waited
// for.
func goes(pod *model.Pod, now time.Time) bool {
	return pod.Deleting && (pod.DeletionTime.IsZero() || now.Before(pod.DeletionTime.Add(Patience)))
}

// leave removes pods that terminate without preemption.
func (r *room) leave(going []*model.Pod) {
	for _, pod := range going {
		r.ending = true
		if pod.DeletionTime.After(r.until) {
			r.until = pod.DeletionTime
		}
		r.state.Pods.Delete(pod.Key)
	}
	r.releaseStale()
}

// offer adds a victim if its priority is lower than that of the unit.
func (r *room) offer(v *victim) {
	if v.priority >= r.unit.Priority {
		return
	}
	slices.SortFunc(v.pods, func(a, b *model.Pod) int { return model.CompareKeys(a.Key, b.Key) })
	for i, pod := range v.pods {
		if i == 0 || pod.Started.Before(v.started) {
			v.started = pod.Started
		}
	}
	r.victims = append(r.victims, v)
}

// ofGroup adds the pods of a group that are on nodes, and returns those that are about to
// terminate.
func (r *room) ofGroup(key model.Key) (going []*model.Pod) {
	group, _ := r.state.Groups.Get(key)
	pods, settled := running(r.state, key)
	if going = doomed(group, pods, r.doomed); len(going) > 0 {
		pods = slices.DeleteFunc(slices.Clone(pods), func(pod *model.Pod) bool { return slices.Contains(going, pod) })
	}
	gangMin, priority := 0, int32(math.MinInt32)
	for _, pod := range pods {
		priority = max(priority, pod.Priority)
	}
	if group != nil && group.Priority != nil {
		priority = *group.Priority
	}
	if group != nil && group.Gang {
		gangMin = group.MinCount
	}
	switch {
	case len(pods) == 0:
	case group != nil && group.Whole || len(pods) <= gangMin:
		if settled {
			r.offer(&victim{key: key, group: key, whole: true, priority: priority, pods: pods})
		}
	case gangMin > 0:
		g := &gang{size: len(pods), surplus: len(pods) - gangMin}
		for _, pod := range pods {
			v := &victim{key: pod.Key, group: key, priority: priority, pods: []*model.Pod{pod}, gang: g}
			g.victims = append(g.victims, v)
			r.offer(v)
		}
	default:
		for _, pod := range pods {
			v := &victim{key: pod.Key, group: key, priority: pod.Priority, pods: []*model.Pod{pod}}
			if group != nil && group.Priority != nil {
				v.priority = priority
			}
			r.offer(v)
		}
	}
	return going
}

// running returns the pods of a group that stay on nodes, and whether none is being bound.
func running(state *model.State, group model.Key) (pods []*model.Pod, settled bool) {
	settled = true
	for _, pod := range state.Groups.Members(group) {
		switch {
		case !pod.Counts() || pod.Deleting:
		case state.Pods.Assumed(pod.Key):
			settled = false
		default:
			pods = append(pods, pod)
		}
	}
	return pods, settled
}

// Doomed reports whether a pod was chosen as a victim and is not deleted yet.
func Doomed(pod *model.Pod) bool {
	return pod.Victim && pod.Counts() && !pod.Deleting && !pod.Foreign
}

// doomed returns those of a group's running pods that were chosen as victims, or that are evicted
// with them: the process may have ended when only some of them were deleted.
func doomed(group *model.Group, pods []*model.Pod, is func(*model.Pod) bool) []*model.Pod {
	marked := slices.DeleteFunc(slices.Clone(pods), func(pod *model.Pod) bool { return !is(pod) })
	switch {
	case len(marked) == 0 || group == nil:
		return marked
	case group.Whole || group.Gang && len(pods)-len(marked) < group.MinCount:
		return pods
	}
	return marked
}

// DoomedWith returns all pods that must be deleted when a doomed one is.
func DoomedWith(state *model.State, pod *model.Pod) []*model.Pod {
	if pod.Group == "" {
		return []*model.Pod{pod}
	}
	group, _ := state.Groups.Get(pod.GroupKey())
	pods, _ := running(state, pod.GroupKey())
	return doomed(group, pods, Doomed)
}

// closed returns the victims, and those that must be evicted with them.
func closed(victims []*victim) []*victim {
	counts := map[*gang]int{}
	for _, v := range victims {
		if v.gang != nil {
			counts[v.gang]++
		}
	}
	out := slices.Clone(victims)
	for g, n := range counts {
		if n <= g.surplus || n == len(g.victims) {
			continue
		}
		for _, v := range g.victims {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	slices.SortFunc(out, compareVictims)
	return out
}

// judge marks the victims that a PodDisruptionBudget protects if all of them are evicted, the least
// important first.
func (r *room) judge(victims []*victim) {
	for _, v := range victims {
		v.violates = false
	}
	slices.SortFunc(victims, compareVictims)
	used := map[*model.Budget]int{}
	for _, v := range victims {
		v.violates = r.violating(v, used) > 0
	}
	slices.SortFunc(victims, compareVictims)
}

// violations counts the pods that a budget protects when these are evicted.
func (r *room) violations(victims []*victim) int {
	n, used := 0, map[*model.Budget]int{}
	for _, v := range victims {
		n += r.violating(v, used)
	}
	return n
}

func (r *room) violating(v *victim, used map[*model.Budget]int) int {
	n := 0
	for _, pod := range v.pods {
		violates := false
		for _, budget := range r.budgetsOf(pod) {
			used[budget]++
			violates = violates || used[budget] > budget.Allowed
		}
		if violates {
			n++
		}
	}
	return n
}

// budgetsOf returns the budgets that cover the pod.
func (r *room) budgetsOf(pod *model.Pod) []*model.Budget {
	all := r.state.Budgets.List(pod.Key.Namespace)
	if len(all) == 0 {
		return nil
	}
	known, ok := r.budgets[pod]
	if ok {
		return known
	}
	for _, budget := range all {
		if budget.Covers(pod) {
			known = append(known, budget)
		}
	}
	r.budgets[pod] = known
	return known
}

func (r *room) costOf(victims []*victim) cost {
	c := cost{violations: r.violations(victims), highest: math.MinInt64}
	groups := map[model.Key]bool{}
	for _, v := range victims {
		if v.idle() {
			continue
		}
		if v.grouped() && !groups[v.group] {
			groups[v.group] = true
			c.groups++
		}
		c.pods += len(v.pods)
		c.sum += int64(v.priority) * int64(len(v.pods))
		switch priority := int64(v.priority); {
		case priority > c.highest:
			c.highest, c.started = priority, v.started
		case priority == c.highest && v.started.Before(c.started):
			c.started = v.started
		}
	}
	return c
}
