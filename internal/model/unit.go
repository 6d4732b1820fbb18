package model

import "slices"

// Unit gathers what is to be placed together under this key: the members that are ready, or the one pod. It answers
// false if nothing waits. Whether the unit may be tried (its PodGroup exists, there are enough members, claims are
// there) is for sched to say.
func (s *State) Unit(key UnitKey) (*Unit, bool) {
	if !key.Group {
		pod, ok := s.Pod(key.Key)
		if !ok || !pod.Ready() || pod.Group != "" {
			return nil, false
		}
		return &Unit{Key: key, Pods: []*Pod{pod}, Min: 1, Priority: pod.Priority, Created: pod.Created}, true
	}
	entry, ok := s.groups[key.Key]
	if !ok || entry.census.Ready == 0 {
		return nil, false
	}
	unit := &Unit{Key: key, Group: entry.group, Min: 1}
	for _, pod := range entry.members {
		if pod.Ready() {
			unit.Pods = append(unit.Pods, pod)
		}
	}
	slices.SortFunc(unit.Pods, func(a, b *Pod) int { return compareStrings(a.Key.Name, b.Key.Name) })
	unit.rank()
	if group := entry.group; group != nil && group.Gang {
		bound := entry.census.Bound
		unit.Min = max(1, group.MinCount-bound)
		unit.HalfBound = bound > 0 && bound < group.MinCount && !group.Scheduled
	}
	return unit, true
}

// rank derives the unit's place in the queue: the group's priority, else the highest of its pods; the group's age, else
// that of its oldest pod.
func (u *Unit) rank() {
	u.Priority, u.Created = u.Pods[0].Priority, u.Pods[0].Created
	for _, pod := range u.Pods[1:] {
		u.Priority = max(u.Priority, pod.Priority)
		if pod.Created.Before(u.Created) {
			u.Created = pod.Created
		}
	}
	if u.Group == nil {
		return
	}
	u.Created = u.Group.Created
	if u.Group.Priority != nil {
		u.Priority = *u.Group.Priority
	}
}
