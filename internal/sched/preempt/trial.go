package preempt

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// trial is the State without some victims, within a transaction.
type trial struct {
	state *model.State
	tx    *model.Tx
	base  int // mark of the transaction from which each attempt starts
	// needsDevices reports whether the unit needs devices. Only then claims of groups are
	// reclaimed.
	needsDevices bool
	reclaims     []Reclaim // reclaims of the victims that were removed last
}

// setBase makes what the trial has removed part of the base.
func (t *trial) setBase() { t.base = t.tx.Mark() }

// reset reverts the trial to its base.
func (t *trial) reset() { t.tx.UndoTo(t.base) }

// remove removes victims, with those that are evicted with them, and frees the claims without
// remaining consumers. It returns the cost in steps.
func (t *trial) remove(victims []*victim) int {
	t.reclaims = nil
	victims = withGangs(victims)
	steps, groups := 0, map[model.Consumer]bool{}
	var claims []model.Key
	seen := map[model.Key]bool{} // all pods of a group may share one
	add := func(claim model.Key) {
		if !seen[claim] {
			seen[claim] = true
			claims = append(claims, claim)
		}
	}
	for _, v := range victims {
		for _, group := range v.consumers(t.state) {
			groups[group] = true
		}
		for _, claim := range v.claims {
			add(claim)
		}
		for _, pod := range v.pods {
			steps++
			t.state.Pods.Delete(pod.Key)
			for name := range pod.ClaimNames {
				add(model.Key{Namespace: pod.Key.Namespace, Name: name})
			}
		}
	}
	for _, key := range claims {
		t.release(key, groups)
	}
	return steps
}

// release removes consumers from a claim that do not exist any more. If the unit needs devices, it
// also removes those of these groups that have no pods left.
func (t *trial) release(key model.Key, groups map[model.Consumer]bool) {
	claim, ok := t.state.Claims.Get(key)
	if !ok || claim.Allocation == nil {
		return
	}
	reclaimed := false
	before, freed := t.state.Claims.RemoveConsumers(key, func(c model.Consumer) bool {
		if t.isStale(key.Namespace, c) {
			return true
		}
		reclaims := t.needsDevices && groups[c] && t.isEmpty(unitOf(key.Namespace, c))
		reclaimed = reclaimed || reclaims
		return reclaims
	})
	if freed && reclaimed {
		t.reclaims = append(t.reclaims, Reclaim{Claim: key, UID: before.UID, Consumers: before.Consumers})
	}
}

// releaseStale frees the claims that have lost all their consumers, because their controller is
// about to. It reports whether there are any.
func (t *trial) releaseStale() bool {
	var stale []model.Key
	t.state.Claims.Each(func(claim *model.Claim) bool {
		isStale := func(c model.Consumer) bool { return t.isStale(claim.Key.Namespace, c) }
		if claim.Allocation != nil && slices.ContainsFunc(claim.Consumers, isStale) {
			stale = append(stale, claim.Key)
		}
		return true
	})
	for _, key := range stale {
		t.release(key, nil)
	}
	return len(stale) > 0
}

// isStale reports whether a consumer does not exist any more, or has finished: the claim's
// controller removes it.
func (t *trial) isStale(namespace string, c model.Consumer) bool {
	key := model.Key{Namespace: namespace, Name: c.Name}
	switch {
	case model.IsPodConsumer(c):
		pod, ok := t.state.Pods.Get(key)
		return !ok || pod.UID != c.UID || pod.Finished
	case isGroup(c):
		group, ok := t.state.Groups.Get(key)
		return !ok || group.UID != c.UID
	}
	return false
}

// isEmpty reports whether no pod of the group or tree is on a node.
func (t *trial) isEmpty(group model.UnitKey) bool {
	return !slices.ContainsFunc(t.state.Members(group), (*model.Pod).Counts)
}

// unitOf returns the key of a consumer that is a PodGroup or a CompositePodGroup.
func unitOf(namespace string, c model.Consumer) model.UnitKey {
	key := model.Key{Namespace: namespace, Name: c.Name}
	return model.UnitKey{Group: isGroup(c), Tree: !isGroup(c), Key: key}
}

func isGroup(c model.Consumer) bool {
	return c.APIGroup == "scheduling.k8s.io" && c.Resource == "podgroups"
}

func isComposite(c model.Consumer) bool {
	return c.APIGroup == "scheduling.k8s.io" && c.Resource == "compositepodgroups"
}
