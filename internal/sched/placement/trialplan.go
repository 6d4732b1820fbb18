package placement

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// plan returns what the trial has done.
func (t *trial) plan() *plan.Plan {
	p := &plan.Plan{Unit: t.unit.Key, Pods: slices.Clone(t.pods)}
	if t.unit.Group != nil {
		p.Group = t.unit.Group.UID
		if t.unit.Group.Gang {
			p.MinCount = t.unit.Group.MinCount
		}
	}
	slices.SortFunc(p.Pods, func(a, b plan.Pod) int { return model.CompareKeys(a.Pod, b.Pod) })
	seen := map[model.Key]bool{}
	for _, change := range t.claims {
		if seen[change.key] {
			continue
		}
		seen[change.key] = true // the first of several changes has the claim as it was
		if claim := t.claimPlan(change); claim != nil {
			p.Claims = append(p.Claims, *claim)
		}
	}
	slices.SortFunc(p.Claims, func(a, b plan.Claim) int { return model.CompareKeys(a.Key, b.Key) })
	p.Relies = t.reliances()
	return p
}

// claimPlan returns what the trial has changed about a claim, or nil. A claim that no pod uses in
// the end is not changed.
func (t *trial) claimPlan(change claimChange) *plan.Claim {
	now, _ := t.state.Claims.Get(change.key)
	if change.created != nil {
		if len(now.Consumers) == 0 {
			return nil
		}
		return &plan.Claim{
			Key: change.key, Make: change.created, Allocation: now.Allocation, Reserve: slices.Clone(now.Consumers),
		}
	}
	reserve := now.Consumers[len(change.before.Consumers):]
	if len(now.Consumers) == 0 {
		return nil
	}
	p := &plan.Claim{
		Key: change.key, UID: now.UID, Version: now.Version, Reserve: slices.Clone(reserve), Protected: now.Protected,
	}
	if change.before.Allocation == nil {
		p.Allocation = now.Allocation
	}
	if p.Allocation == nil && len(p.Reserve) == 0 {
		return nil
	}
	return p
}

// reliances returns the consumers that claims had before the trial, and through which pods of the
// plan use the claims.
func (t *trial) reliances() []plan.Reliance {
	first, seen := map[model.Key]*model.Claim{}, map[plan.Reliance]bool{}
	var list []plan.Reliance
	for _, change := range t.claims {
		key := change.key
		if first[key] == nil {
			first[key] = change.before
		}
		if change.relies == nil || first[key] == nil || !first[key].HasConsumer(*change.relies) {
			continue
		}
		r := plan.Reliance{Key: key, UID: first[key].UID, Consumer: *change.relies}
		if !seen[r] {
			seen[r] = true
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b plan.Reliance) int { return model.CompareKeys(a.Key, b.Key) })
	return list
}
