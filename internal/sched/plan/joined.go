package plan

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// Joined returns one plan for plans that were made one after the other, each with the changes of
// those before, for different pods of a unit. A claim that several change is written once, and a
// consumer that an earlier plan adds needs not be looked up.
func Joined(unit model.UnitKey, parts []*Plan) *Plan {
	j := joiner{plan: &Plan{Unit: unit}, claims: map[model.Key]int{}}
	for _, part := range parts {
		j.add(part)
	}
	slices.SortFunc(j.plan.Pods, func(a, b Pod) int { return model.CompareKeys(a.Pod, b.Pod) })
	slices.SortFunc(j.plan.Claims, func(a, b Claim) int { return model.CompareKeys(a.Key, b.Key) })
	return j.plan
}

// joiner joins plans.
type joiner struct {
	plan   *Plan
	claims map[model.Key]int // indexes of the claims of the plan
}

func (j *joiner) add(part *Plan) {
	for _, r := range part.Relies {
		at, changed := j.claims[r.Key]
		if changed && slices.Contains(j.plan.Claims[at].Reserve, r.Consumer) || slices.Contains(j.plan.Relies, r) {
			continue
		}
		j.plan.Relies = append(j.plan.Relies, r)
	}
	j.plan.Pods = append(j.plan.Pods, part.Pods...)
	for i := range part.Claims {
		j.addClaim(&part.Claims[i])
	}
}

func (j *joiner) addClaim(more *Claim) {
	at, known := j.claims[more.Key]
	if !known {
		j.claims[more.Key] = len(j.plan.Claims)
		j.plan.Claims = append(j.plan.Claims, *more)
		return
	}
	claim := &j.plan.Claims[at]
	if claim.Allocation == nil {
		claim.Allocation = more.Allocation
	}
	for _, consumer := range more.Reserve {
		if !slices.Contains(claim.Reserve, consumer) {
			claim.Reserve = append(slices.Clip(claim.Reserve), consumer)
		}
	}
}
