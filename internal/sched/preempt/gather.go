package preempt

import (
	"slices"
	"time"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/placement"
)

// Patience is how long terminating pods may be overdue and still count as about to be deleted.
const Patience = 30 * time.Second

// victimPool are the possible victims for a unit.
type victimPool struct {
	victims     []*victim // the least important first
	pods        int       // of these
	binding     bool      // pods are being bound: they may become victims later
	terminating bool      // some pods or claims are about to be freed without preemption
	until       time.Time // time at which these pods should be deleted, as far as it is known
	guarded     bool      // PodDisruptionBudgets may cover victims
}

// gatherer finds the possible victims for a unit.
type gatherer struct {
	*victimPool
	trial    *trial
	unit     *model.Unit
	now      time.Time
	isChosen func(*model.Pod) bool // reports whether a pod is evicted already
}

// gather removes from the trial what is terminating, and returns the possible victims.
func gather(t *trial, unit *model.Unit, in Input) *victimPool {
	g := &gatherer{victimPool: &victimPool{}, trial: t, unit: unit, now: in.Now, isChosen: IsVictim}
	if in.IsEvicted != nil {
		g.isChosen = func(pod *model.Pod) bool { return IsVictim(pod) || in.IsEvicted(pod) }
	}
	t.needsDevices = needsDevices(t.state, unit)
	g.removeTerminating(g.addPods())
	if t.needsDevices {
		g.addIdleGroups()
	}
	for _, v := range g.victims {
		g.pods += len(v.pods)
		v.fabric = t.needsDevices && holdsFabric(t.state, v)
		g.guarded = g.guarded || len(t.state.Budgets.List(v.key.Namespace)) > 0
	}
	slices.SortFunc(g.victims, compareVictims)
	for i, v := range g.victims {
		v.rank = i
	}
	return g.victimPool
}

// needsDevices reports whether the unit has claims without devices.
func needsDevices(state *model.State, unit *model.Unit) bool {
	for _, pod := range unit.Pods {
		if state.Classes.OffersAny(pod.Shape) {
			return true
		}
		for i := range pod.Claims {
			claim, ok := state.Claims.Get(model.Key{Namespace: pod.Key.Namespace, Name: pod.Claims[i].Claim})
			if ok && claim.Allocation == nil {
				return true
			}
		}
	}
	return false
}

// holdsFabric reports whether a victim's claims have devices that are not tied to one node.
func holdsFabric(state *model.State, v *victim) (fabric bool) {
	v.eachClaim(state, func(claim *model.Claim) {
		_, tied := nodefit.TiedNode(claim.Allocation.NodeSelector)
		fabric = fabric || !tied
	})
	return fabric
}

// addPods adds the pods on nodes, and returns those that terminate without preemption. Pods that
// are being bound are left alone until that is done.
func (g *gatherer) addPods() (terminating []*model.Pod) {
	state := g.trial.state
	groups := map[model.Key]bool{}
	for _, info := range state.Nodes.List() {
		for _, pod := range info.Pods {
			switch {
			case pod.StandIn:
			case state.Pods.Assumed(pod.Key):
				g.binding = true
			case isTerminating(pod, g.now) || pod.Group == "" && g.isChosen(pod):
				terminating = append(terminating, pod)
			case pod.Deleting:
			case pod.Group != "":
				groups[pod.GroupKey()] = true
			default:
				g.add(&victim{key: pod.Key, priority: pod.Priority, pods: []*model.Pod{pod}})
			}
		}
	}
	return append(terminating, g.addGroups(groups)...)
}

// addGroups adds the groups that are not in the unit's own tree, and trees that are evicted as a
// whole. It returns their pods that terminate without preemption.
func (g *gatherer) addGroups(groups map[model.Key]bool) (terminating []*model.Pod) {
	trees := map[model.Key]bool{}
	for key := range groups {
		switch root, whole := wholeTree(g.trial.state, key); {
		case g.isOwn(key):
		case whole:
			trees[root] = true
		default:
			terminating = append(terminating, g.addGroup(key)...)
		}
	}
	for key := range trees {
		terminating = append(terminating, g.addTree(key)...)
	}
	return terminating
}

// isOwn reports whether a group is in the unit's tree, of which no part is evicted for another.
func (g *gatherer) isOwn(group model.Key) bool {
	root, ok := g.trial.state.RootOf(g.unit.Key)
	own, in := g.trial.state.RootOf(model.UnitKey{Group: true, Key: group})
	return ok && in && root == own
}

// isTerminating reports whether a pod is about to be deleted. A pod that has been overdue for long
// is not waited for.
func isTerminating(pod *model.Pod, now time.Time) bool {
	return pod.Deleting && (pod.DeletionTime.IsZero() || now.Before(pod.DeletionTime.Add(Patience)))
}

// removeTerminating removes pods that terminate without preemption, and frees claims that have lost
// their consumers. Claims matter only to units that use some.
func (g *gatherer) removeTerminating(pods []*model.Pod) {
	for _, pod := range pods {
		g.terminating = true
		if pod.DeletionTime.After(g.until) {
			g.until = pod.DeletionTime
		}
		g.trial.state.Pods.Delete(pod.Key)
	}
	if usesClaims(g.trial.state, g.unit) && g.trial.releaseStale() {
		g.terminating = true
	}
}

// add adds a victim if its priority is lower than that of the unit.
func (g *gatherer) add(v *victim) {
	if v.priority >= g.unit.Priority {
		return
	}
	slices.SortFunc(v.pods, func(a, b *model.Pod) int { return model.CompareKeys(a.Key, b.Key) })
	for i, pod := range v.pods {
		if i == 0 || pod.Started.Before(v.started) {
			v.started = pod.Started
		}
	}
	g.victims = append(g.victims, v)
}

// addGroup adds the pods of a group that are on nodes, and returns those that are about to
// terminate.
func (g *gatherer) addGroup(key model.Key) (terminating []*model.Pod) {
	group, _ := g.trial.state.Groups.Get(key)
	pods, settled := runningPods(g.trial.state, key)
	if terminating = chosenPods(group, pods, g.isChosen); len(terminating) > 0 {
		pods = slices.DeleteFunc(slices.Clone(pods), func(pod *model.Pod) bool { return slices.Contains(terminating, pod) })
	}
	unit := model.UnitKey{Group: true, Key: key}
	gangMin, priority := 0, groupPriority(g.trial.state, unit, pods)
	if group != nil && group.Gang {
		gangMin = group.MinCount
	}
	switch {
	case len(pods) == 0:
	case group != nil && group.Whole || len(pods) <= gangMin:
		if settled {
			g.add(&victim{key: key, group: key, wholeGroup: true, priority: priority, pods: pods})
		}
	case gangMin > 0:
		gang := &gang{size: len(pods), surplus: len(pods) - gangMin}
		for _, pod := range pods {
			v := &victim{key: pod.Key, group: key, priority: priority, pods: []*model.Pod{pod}, gang: gang}
			gang.victims = append(gang.victims, v)
			g.add(v)
		}
	default:
		for _, pod := range pods {
			one := []*model.Pod{pod}
			g.add(&victim{key: pod.Key, group: key, priority: groupPriority(g.trial.state, unit, one), pods: one})
		}
	}
	return terminating
}

// usesClaims reports whether some pod of the unit uses claims.
func usesClaims(state *model.State, unit *model.Unit) bool {
	return slices.ContainsFunc(unit.Pods, func(pod *model.Pod) bool { return placement.UsesClaims(state, pod) })
}
