package model

// Unit returns the unit with this key: the members that are ready, or the one pod. It returns false
// if no pod is ready, except for a half-bound gang, which is a unit even without ready members.
// Whether the unit can be attempted (the PodGroup and the claims exist, there are enough members)
// is decided by sched.
func (s *State) Unit(key UnitKey) (*Unit, bool) {
	if key.Tree {
		return s.treeUnit(key)
	}
	if !key.Group {
		pod, ok := s.Pods.Get(key.Key)
		if !ok || !pod.Ready() || pod.Group != "" {
			return nil, false
		}
		return &Unit{
			Key:           key,
			Pods:          []*Pod{pod},
			Min:           1,
			Priority:      pod.Priority,
			NeverPreempts: pod.NeverPreempts,
			Created:       pod.Created,
		}, true
	}
	entry, ok := s.Groups.entries[key.Key]
	if !ok || s.UnitOfGroup(key.Key) != key {
		return nil, false
	}
	halfBound := entry.halfBound()
	if entry.census.Ready == 0 && !halfBound {
		return nil, false
	}
	unit := &Unit{Key: key, Group: entry.group, Min: 1, HalfBound: halfBound}
	unit.Pods = make([]*Pod, 0, entry.census.Ready)
	for _, pod := range entry.members {
		if pod.Ready() {
			unit.Pods = append(unit.Pods, pod)
		}
	}
	unit.rank()
	s.rankByRoot(unit)
	if group := entry.group; group != nil && group.Gang {
		unit.Min = max(1, group.MinCount-entry.census.Bound)
	}
	return unit, true
}

// halfBound reports whether a gang that was never fully scheduled has fewer than minCount members
// on nodes. Finished members count, because they were placed; a gang whose bound members are all of
// another scheduler is left to that scheduler.
func (e *groupEntry) halfBound() bool {
	group := e.group
	if group == nil || !group.Gang || group.Scheduled || e.census.Bound == 0 || e.census.Bound >= group.MinCount {
		return false
	}
	placed, ours := 0, false
	for _, pod := range e.members {
		if pod.Node == "" || pod.Deleting {
			continue
		}
		placed++
		ours = ours || !pod.Foreign && !pod.Finished
	}
	return ours && placed < group.MinCount
}

// rank sets the unit's position in the queue: the group's priority, or the highest of its pods; the
// group's age, or that of its oldest pod.
func (u *Unit) rank() {
	for i, pod := range u.Pods {
		if i == 0 {
			u.Priority, u.Created = pod.Priority, pod.Created
		}
		u.Priority = max(u.Priority, pod.Priority)
		u.NeverPreempts = u.NeverPreempts || pod.NeverPreempts
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
	if u.Group.NeverPreempts != nil {
		u.NeverPreempts = *u.Group.NeverPreempts
	}
}
