package holding

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// Claim is a claim with holders that do not use it.
type Claim struct {
	Key     model.Key
	UID     types.UID
	Holders []model.Consumer
	// Reclaimed reports whether the claim is taken from a group for a unit of higher priority.
	Reclaimed bool
}

// Usage finds the claims that have devices for a unit and that no pod on a node uses. It reads
// the State and changes nothing.
type Usage struct {
	State *model.State
}

// Unused returns the claims that have devices for the waiting pods of a unit, and for their group
// if it has never run.
func (u Usage) Unused(unit *model.Unit) []Claim {
	claims := u.allocatedOf(unit, unit.Group != nil && !unit.Group.Scheduled)
	if len(claims) == 0 {
		return nil
	}
	return u.NotInUse(u.heldBy(claims, holders(unit)), nil)
}

// allocatedOf returns the claims of the unit's pods that have devices, each once. With group, the
// claims of the unit's group come first.
func (u Usage) allocatedOf(unit *model.Unit, group bool) []model.Key {
	var keys []model.Key
	seen := map[model.Key]bool{}
	add := func(namespace, name string) {
		key := model.Key{Namespace: namespace, Name: name}
		if !seen[key] && u.hasDevices(key) {
			keys = append(keys, key)
		}
		seen[key] = true
	}
	if group {
		for _, name := range unit.Group.Claims {
			add(unit.Group.Key.Namespace, name)
		}
	}
	for _, pod := range unit.Pods {
		for name := range pod.ClaimNames {
			add(pod.Key.Namespace, name)
		}
	}
	return keys
}

// hasDevices reports whether the API shows devices of a claim that can be deallocated.
func (u Usage) hasDevices(key model.Key) bool {
	observed, ok := u.State.Claims.Observed(key)
	return ok && observed.Allocation != nil && !observed.Deleting
}

// holders returns the consumers for which a claim may be reserved and still be unused by a waiting
// unit.
func holders(unit *model.Unit) []model.Consumer {
	holders := make([]model.Consumer, 0, len(unit.Pods)+1)
	for _, pod := range unit.Pods {
		holders = append(holders, model.PodConsumer(pod.Key.Name, pod.UID))
	}
	for _, group := range unit.Groups() {
		if !group.Scheduled {
			holders = append(holders, model.GroupConsumer(group.Key.Name, group.UID))
		}
	}
	return holders
}

// UnusedOf returns the claims that a plan has allocated, and its claims with devices that never
// become ready.
func (u Usage) UnusedOf(plan *plan.Plan, hopeless []model.Key) []Claim {
	var holders []model.Consumer
	for i := range plan.Pods {
		holders = append(holders, model.PodConsumer(plan.Pods[i].Pod.Name, plan.Pods[i].UID))
	}
	if group, ok := u.State.Groups.Get(plan.Unit.Key); ok && plan.Unit.Group && !group.Scheduled {
		holders = append(holders, model.GroupConsumer(group.Key.Name, group.UID))
	}
	var unused []Claim
	for i := range plan.Claims {
		claim := &plan.Claims[i]
		if claim.Allocation == nil {
			continue
		}
		uid := claim.UID
		if made, ok := u.State.Claims.Observed(claim.Key); ok && claim.Make != nil {
			uid = made.UID
		}
		unused = append(unused,
			Claim{Key: claim.Key, UID: uid, Holders: append(slices.Clip(holders), claim.Reserve...)})
	}
	for _, key := range hopeless {
		claim, ok := u.State.Claims.Get(key)
		if ok && !slices.ContainsFunc(unused, func(held Claim) bool { return held.Key == key }) {
			unused = append(unused, Claim{Key: key, UID: claim.UID, Holders: holders})
		}
	}
	return u.NotInUse(unused, plan)
}

// heldBy returns the claims that have no consumers other than the holders.
func (u Usage) heldBy(claims []model.Key, holders []model.Consumer) []Claim {
	these := map[types.UID]bool{}
	for _, holder := range holders {
		these[holder.UID] = true
	}
	other := func(c model.Consumer) bool { return !these[c.UID] }
	var held []Claim
	for _, key := range claims {
		if claim, _ := u.State.Claims.Get(key); !slices.ContainsFunc(claim.Consumers, other) {
			held = append(held, Claim{Key: key, UID: claim.UID, Holders: holders})
		}
	}
	return held
}

// NotInUse removes claims from the list that a pod on a node names, reserved for it or not. Pods of
// the plan, which may be nil, do not count.
func (u Usage) NotInUse(list []Claim, plan *plan.Plan) []Claim {
	if len(list) == 0 {
		return nil
	}
	planned := map[model.Key]bool{}
	if plan != nil {
		for i := range plan.Pods {
			planned[plan.Pods[i].Pod] = true
		}
	}
	used := map[model.Key]bool{}
	for _, info := range u.State.Nodes.List() {
		for _, pod := range info.Pods {
			for name := range pod.ClaimNames {
				if !planned[pod.Key] {
					used[model.Key{Namespace: pod.Key.Namespace, Name: name}] = true
				}
			}
		}
	}
	return slices.DeleteFunc(list, func(held Claim) bool { return used[held.Key] })
}

// IdleGroup returns a unit of a group that has never run and has no pods to place.
func (u Usage) IdleGroup(key model.UnitKey) (*model.Unit, bool) {
	group, ok := u.State.Groups.Get(key.Key)
	if !key.Group || !ok || group.Scheduled || u.State.Groups.Census(key.Key).Bound > 0 {
		return nil, false
	}
	if slices.ContainsFunc(
		u.State.Groups.Members(key.Key), func(pod *model.Pod) bool { return pod.Foreign && !pod.Finished },
	) {
		return nil, false // another scheduler may be about to bind them
	}
	if unit := u.State.UnitOfGroup(key.Key); unit.Tree && slices.ContainsFunc(u.State.Members(unit), (*model.Pod).Ready) {
		return nil, false // the tree is about to be placed with what its groups have
	}
	return &model.Unit{Key: key, Group: group}, true
}

// IdleGroupHolds reports whether an idle group has unused devices: it was rolled back, or its pods
// were deleted before they were bound.
func (u Usage) IdleGroupHolds(key model.UnitKey) bool {
	unit, ok := u.IdleGroup(key)
	return ok && len(unit.Group.Claims) > 0 && len(u.Unused(unit)) > 0
}

// survivors returns the members of a gang that run although the gang has lost others and is below
// its minCount, and whether controllers replace them when they are deleted. There are none if
// minCount was changed since the gang was scheduled, since running pods do not have to leave for
// that, or if another scheduler has placed some.
func (u Usage) survivors(unit *model.Unit) (survivors []*model.Pod, replaced bool) {
	group := unit.Group
	if group == nil || !group.Gang || !group.Completed || u.State.Groups.Census(group.Key).Bound >= group.MinCount {
		return nil, false
	}
	replaced = true
	for _, pod := range u.State.Groups.Members(group.Key) {
		switch {
		case !pod.Counts() || pod.Deleting:
		case pod.Foreign || u.State.Pods.Assumed(pod.Key):
			return nil, false
		default:
			survivors = append(survivors, pod)
			replaced = replaced && pod.Controlled
		}
	}
	return survivors, replaced
}

// MayHold reports whether a group or any of its members may have devices.
func (u Usage) MayHold(group *model.Group) bool {
	return u.State.Groups.OwnAllocated(group.Key) > 0 || slices.ContainsFunc(group.Claims, func(name string) bool {
		claim, ok := u.State.Claims.Observed(model.Key{Namespace: group.Key.Namespace, Name: name})
		return ok && claim.Allocation != nil
	})
}

// reservedOnlyFor reports whether a claim is reserved for no consumer outside the unit. Consumers
// other than pods and PodGroups represent the pods that name the claim, and keep its devices unless
// these are broken.
func (u Usage) reservedOnlyFor(claim *model.Claim, unit *model.Unit, broken bool) bool {
	return !slices.ContainsFunc(claim.Consumers, func(c model.Consumer) bool {
		switch {
		case model.IsPodConsumer(c):
			return !slices.ContainsFunc(unit.Pods, func(pod *model.Pod) bool { return pod.UID == c.UID })
		case unit.Group != nil && c.UID == unit.Group.UID:
			return false
		case c.APIGroup == "scheduling.k8s.io" && c.Resource == "podgroups":
			return true
		}
		return !broken
	})
}
