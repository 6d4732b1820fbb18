package model

import (
	"math"
	"slices"
)

// GroupStore holds the PodGroups with their members.
type GroupStore struct {
	// Composites are the CompositePodGroups that PodGroups name as their parents.
	Composites CompositeStore

	entries map[Key]*groupEntry
	// by claim: number of uses by members other than through their group
	ownUsers map[Key]map[*groupEntry]int
	state    *State
	log      *undoLog
}

func newGroupStore(s *State) GroupStore {
	return GroupStore{
		Composites: newCompositeStore(&s.log),
		entries:    map[Key]*groupEntry{}, ownUsers: map[Key]map[*groupEntry]int{}, state: s, log: &s.log,
	}
}

// OwnAllocated returns the number of uses of allocated claims, as the API shows them, by members of
// a group other than through the group.
func (s *GroupStore) OwnAllocated(group Key) int {
	entry, ok := s.entries[group]
	if !ok {
		return 0
	}
	return entry.own
}

// countOwn adds by for the claims of a pod that joins or leaves the group.
func (s *GroupStore) countOwn(entry *groupEntry, pod *Pod, by int) {
	for name := range pod.ownClaims {
		key := Key{Namespace: pod.Key.Namespace, Name: name}
		users := s.ownUsers[key]
		if users == nil {
			users = map[*groupEntry]int{}
			s.ownUsers[key] = users
		}
		if users[entry] += by; users[entry] == 0 {
			delete(users, entry)
		}
		if len(users) == 0 {
			delete(s.ownUsers, key)
		}
		if s.state.Claims.entries[key].allocated() {
			entry.own += by
		}
	}
}

// ownClaims yields the claims of ClaimNames that the pod does not use through its group.
func (p *Pod) ownClaims(yield func(string) bool) {
	for i := range p.Claims {
		if use := &p.Claims[i]; use.Claim != "" && !use.Group && !yield(use.Claim) {
			return
		}
	}
	if p.Extended != "" {
		yield(p.Extended)
	}
}

// recountOwn updates the counts of the groups whose members use a claim that was allocated or
// deallocated.
func (s *GroupStore) recountOwn(key Key, old, now *claimEntry) {
	was, is := old.allocated(), now.allocated()
	if was == is {
		return
	}
	by := 1
	if was {
		by = -1
	}
	for entry, uses := range s.ownUsers[key] {
		entry.own += by * uses
	}
}

func (e *claimEntry) allocated() bool {
	return e != nil && e.observed != nil && e.observed.Allocation != nil
}

// sameUses reports whether two versions of a pod share their list of claims, for example if the
// node was assumed.
func sameUses(a, b *Pod) bool {
	return a.Extended == b.Extended && len(a.Claims) == len(b.Claims) &&
		(len(a.Claims) == 0 || &a.Claims[0] == &b.Claims[0])
}

type groupEntry struct {
	group   *Group // nil if pods name the group and it does not exist
	members []*Pod // sorted by name, because units are built more often than pods are added
	census  Census
	own     int // see OwnAllocated
}

// changeMember updates the members of groups; either pod may be nil.
func (s *GroupStore) changeMember(before, after *Pod) {
	if before != nil && after != nil && before.Group == after.Group {
		s.replaceMember(before, after)
		return
	}
	if before != nil && before.Group != "" {
		entry := s.entries[before.GroupKey()]
		if i, ok := entry.find(before.Key.Name); ok {
			entry.members = slices.Delete(entry.members, i, i+1)
		}
		*entry.census.counter(before)--
		s.countOwn(entry, before, -1)
		s.dropIfEmpty(before.GroupKey(), entry)
	}
	if after != nil && after.Group != "" {
		entry := s.entry(after.GroupKey())
		i, _ := entry.find(after.Key.Name)
		entry.members = slices.Insert(entry.members, i, after)
		*entry.census.counter(after)++
		s.countOwn(entry, after, 1)
	}
}

// replaceMember replaces a pod by a newer version of it. This is the most frequent change, so no
// member is moved.
func (s *GroupStore) replaceMember(before, after *Pod) {
	if before.Group == "" {
		return
	}
	entry := s.entries[before.GroupKey()]
	if i, ok := entry.find(before.Key.Name); ok {
		entry.members[i] = after
	}
	*entry.census.counter(before)--
	*entry.census.counter(after)++
	if !sameUses(before, after) {
		s.countOwn(entry, before, -1)
		s.countOwn(entry, after, 1)
	}
}

// find returns the index of a member, or where to insert it.
func (e *groupEntry) find(name string) (int, bool) {
	return slices.BinarySearchFunc(e.members, name,
		func(pod *Pod, name string) int { return compareStrings(pod.Key.Name, name) })
}

// counter returns the counter for the pod.
func (c *Census) counter(pod *Pod) *int {
	switch {
	case pod.Finished:
		return &c.Finished
	case pod.Deleting:
		return &c.Deleting
	case pod.Node != "":
		return &c.Bound
	case pod.Foreign:
		return &c.Foreign
	case pod.Gated:
		return &c.Gated
	}
	return &c.Ready
}

func (s *GroupStore) entry(key Key) *groupEntry {
	entry, ok := s.entries[key]
	if !ok {
		entry = &groupEntry{}
		s.entries[key] = entry
	}
	return entry
}

func (s *GroupStore) dropIfEmpty(key Key, entry *groupEntry) {
	if entry.group == nil && len(entry.members) == 0 {
		delete(s.entries, key)
	}
}

// Get returns a PodGroup.
func (s *GroupStore) Get(key Key) (*Group, bool) {
	entry, ok := s.entries[key]
	if !ok || entry.group == nil {
		return nil, false
	}
	return entry.group, true
}

// Census returns the counts of the pods that name the group, which need not exist.
func (s *GroupStore) Census(key Key) Census {
	entry, ok := s.entries[key]
	if !ok {
		return Census{}
	}
	return entry.census
}

// Members returns the pods that name the group, by name.
func (s *GroupStore) Members(key Key) []*Pod {
	entry, ok := s.entries[key]
	if !ok {
		return nil
	}
	return slices.Clone(entry.members)
}

// Put adds or replaces a PodGroup.
func (s *GroupStore) Put(group *Group) []Topic {
	if old, ok := s.Get(group.Key); ok && outdated(old.UID, group.UID, old.Version, group.Version) {
		return nil
	}
	s.state.Pods.occupy()
	old, _ := s.Get(group.Key)
	s.set(group.Key, group)
	if sameGroup(old, group) {
		return nil
	}
	return s.topics(old, group)
}

// Delete removes a PodGroup.
func (s *GroupStore) Delete(key Key) []Topic {
	old, ok := s.Get(key)
	if !ok {
		return nil
	}
	s.set(key, nil)
	return s.topics(old, nil)
}

// topics returns the topics of a change of a group; either version may be nil. A change of the
// fields that decide whether its pods can be victims changes what preemption can free on their
// nodes and of the group's claims.
func (s *GroupStore) topics(old, now *Group) []Topic {
	some := now
	if some == nil {
		some = old
	}
	topics := []Topic{{Kind: TopicGroup, Key: some.Key}}
	if old != nil && now != nil && samePreemption(old, now) {
		return topics
	}
	for _, pod := range s.Members(some.Key) {
		if pod.Counts() {
			topics = append(topics, roomOn(pod.Node))
		}
	}
	if len(some.Claims) > 0 {
		topics = append(topics, Topic{Kind: TopicDevices})
	}
	return topics
}

// samePreemption reports whether preemption treats two versions of a group alike.
func samePreemption(a, b *Group) bool {
	priority := a.Priority == b.Priority || a.Priority != nil && b.Priority != nil && *a.Priority == *b.Priority
	return priority && a.UID == b.UID && a.Whole == b.Whole && a.Gang == b.Gang && a.MinCount == b.MinCount &&
		a.Deleting == b.Deleting
}

func (s *GroupStore) set(key Key, group *Group) {
	entry := s.entry(key)
	old := entry.group
	s.log.record(func() { s.set(key, old) })
	s.count(old, -1)
	s.count(group, 1)
	s.Composites.setParent(key, parentOf(old), parentOf(group))
	entry.group = group
	s.dropIfEmpty(key, entry)
}

// parentOf returns the CompositePodGroup of a group, which may be nil.
func parentOf(group *Group) string {
	if group == nil {
		return ""
	}
	return group.Parent
}

// count adds by for the group's priority. A group without a priority counts as the lowest, because
// its pods can have any.
func (s *GroupStore) count(group *Group, by int) {
	switch {
	case group == nil:
	case group.Priority == nil:
		s.state.Pods.countPriority(math.MinInt32, by)
	default:
		s.state.Pods.countPriority(*group.Priority, by)
	}
}
