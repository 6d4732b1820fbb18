package sched

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// remove removes victims from the trial, with those that are evicted with them, and frees the
// claims without remaining consumers. It returns the cost in steps.
func (r *room) remove(victims []*victim) int {
	r.recalls = nil
	victims = closed(victims)
	steps, groups := 0, map[model.Key]bool{}
	var claims []model.Key
	seen := map[model.Key]bool{} // all pods of a group may share one
	add := func(claim model.Key) {
		if !seen[claim] {
			seen[claim] = true
			claims = append(claims, claim)
		}
	}
	for _, v := range victims {
		if v.grouped() {
			groups[v.group] = true
		}
		for _, claim := range v.claims {
			add(claim)
		}
		for _, pod := range v.pods {
			steps++
			r.state.Pods.Delete(pod.Key)
			for name := range pod.ClaimNames {
				add(model.Key{Namespace: pod.Key.Namespace, Name: name})
			}
		}
	}
	for _, key := range claims {
		r.release(key, groups)
	}
	return steps
}

// release removes consumers from a claim that do not exist any more; if the unit needs devices,
// also groups that have lost all their pods to it.
func (r *room) release(key model.Key, groups map[model.Key]bool) {
	claim, ok := r.state.Claims.Get(key)
	if !ok || claim.Allocation == nil {
		return
	}
	recalled := false
	before, freed := r.state.Claims.RemoveConsumers(key, func(c model.Consumer) bool {
		if r.gone(key.Namespace, c) {
			return true
		}
		group := model.Key{Namespace: key.Namespace, Name: c.Name}
		gives := r.devices && isGroup(c) && groups[group] && r.empty(group)
		recalled = recalled || gives
		return gives
	})
	if freed && recalled {
		r.recalls = append(r.recalls, Recall{Claim: key, UID: before.UID, Consumers: before.Consumers})
	}
}

// gone reports whether a consumer does not exist any more, or has finished: the claim's controller
// removes it.
func (r *room) gone(namespace string, c model.Consumer) bool {
	key := model.Key{Namespace: namespace, Name: c.Name}
	switch {
	case model.IsPodConsumer(c):
		pod, ok := r.state.Pods.Get(key)
		return !ok || pod.UID != c.UID || pod.Finished
	case isGroup(c):
		group, ok := r.state.Groups.Get(key)
		return !ok || group.UID != c.UID
	}
	return false
}

func isGroup(c model.Consumer) bool {
	return c.APIGroup == "scheduling.k8s.io" && c.Resource == "podgroups"
}

// empty reports whether no pod of the group is on a node.
func (r *room) empty(group model.Key) bool {
	return !slices.ContainsFunc(r.state.Groups.Members(group), (*model.Pod).Counts)
}

// wantsDevices reports whether the unit has claims without devices.
func (r *room) wantsDevices() bool {
	for _, pod := range r.unit.Pods {
		if r.state.Classes.OffersAny(pod.Shape) {
			return true
		}
		for i := range pod.Claims {
			claim, ok := r.state.Claims.Get(model.Key{Namespace: pod.Key.Namespace, Name: pod.Claims[i].Claim})
			if ok && claim.Allocation == nil {
				return true
			}
		}
	}
	return false
}

// releaseStale frees the claims of which no consumer exists any more: their controller is about to.
// It matters only to units that use claims.
func (r *room) releaseStale() {
	if !r.usesClaims() {
		return
	}
	var stale []model.Key
	r.state.Claims.Each(func(claim *model.Claim) bool {
		if claim.Allocation != nil && slices.ContainsFunc(claim.Consumers, func(c model.Consumer) bool { return r.gone(claim.Key.Namespace, c) }) {
			stale = append(stale, claim.Key)
		}
		return true
	})
	for _, key := range stale {
		r.ending = true
		r.release(key, nil)
	}
}

func (r *room) usesClaims() bool {
	return slices.ContainsFunc(r.unit.Pods, func(pod *model.Pod) bool { return usesClaims(r.state, pod) })
}

// idleClaims lists groups that run no pod and keep devices for later ones: no pod has to be
// evicted.
func (r *room) idleClaims() {
	idle := map[model.Key][]model.Key{}
	r.state.Claims.Each(func(claim *model.Claim) bool {
		if claim.Allocation == nil || len(claim.Consumers) != 1 || !isGroup(claim.Consumers[0]) || claim.Deleting {
			return true
		}
		group := model.Key{Namespace: claim.Key.Namespace, Name: claim.Consumers[0].Name}
		if r.empty(group) && !(r.unit.Key.Group && r.unit.Key.Key == group) {
			idle[group] = append(idle[group], claim.Key)
		}
		return true
	})
	for key, claims := range idle {
		group, ok := r.state.Groups.Get(key)
		if !ok || group.UID != r.consumerOf(claims[0]) {
			continue
		}
		slices.SortFunc(claims, model.CompareKeys)
		r.offer(&victim{key: key, group: key, whole: true, priority: r.priorityOf(group), claims: claims, started: group.Created})
	}
}

func (r *room) consumerOf(claim model.Key) types.UID {
	c, _ := r.state.Claims.Get(claim)
	return c.Consumers[0].UID
}

// priorityOf returns the priority of a group that runs no pod.
func (r *room) priorityOf(group *model.Group) int32 {
	if group.Priority != nil {
		return *group.Priority
	}
	unit, ok := r.state.Unit(model.UnitKey{Group: true, Key: group.Key})
	if !ok {
		return 0
	}
	return unit.Priority
}

// holdsFabric reports whether a victim's claims have devices that are not tied to one node.
func (r *room) holdsFabric(v *victim) (loose bool) {
	r.claimsOf(v, func(claim *model.Claim) {
		_, tied := nodefit.TiedNode(claim.Allocation.NodeSelector)
		loose = loose || !tied
	})
	return loose
}

// claimsOf calls f with the claims of a victim that have devices.
func (r *room) claimsOf(v *victim, f func(*model.Claim)) {
	visit := func(key model.Key) {
		if claim, ok := r.state.Claims.Get(key); ok && claim.Allocation != nil {
			f(claim)
		}
	}
	for _, pod := range v.pods {
		for name := range pod.ClaimNames {
			visit(model.Key{Namespace: pod.Key.Namespace, Name: name})
		}
	}
	for _, key := range v.claims {
		visit(key)
	}
}
