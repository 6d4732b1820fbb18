package model

import (
	"maps"
	"math"
	"slices"
)

// podEntry keeps what the API says and on which node the pod is assumed to be.
type podEntry struct {
	observed *Pod
	node     string // assumed; "" if nothing is
	draws    []Draw // assumed with the node
	pod      *Pod   // effective
}

func newPodEntry(observed *Pod, node string, draws []Draw) *podEntry {
	entry := &podEntry{observed: observed, pod: observed}
	if node != "" && observed.Node == "" {
		assumed := *observed
		assumed.Node, assumed.Draws = node, draws
		entry.node, entry.draws, entry.pod = node, draws, &assumed
	}
	return entry
}

func (e *podEntry) effective() *Pod {
	if e == nil {
		return nil
	}
	return e.pod
}

type groupEntry struct {
	group   *Group // nil: pods name it, but it does not exist
	members []*Pod // in the order of their names: a unit is gathered more often than pods come
	census  Census
	own     int // see OwnAllocated
}

// Pod finds a pod as it is or is assumed to be.
func (s *State) Pod(key Key) (*Pod, bool) {
	pod := s.pods[key].effective()
	return pod, pod != nil
}

// Assumed says whether the pod's node is assumed only.
func (s *State) Assumed(key Key) bool {
	entry, ok := s.pods[key]
	return ok && entry.node != ""
}

// PutPod adds or replaces a pod as the API shows it. An assumption ends when the API shows a node, or another pod of
// the same name.
func (s *State) PutPod(pod *Pod) []Topic {
	old := s.pods[pod.Key]
	if old != nil && outdated(old.observed.UID, pod.UID, old.observed.Version, pod.Version) {
		return nil
	}
	node, draws := "", []Draw(nil)
	if old != nil && old.observed.UID == pod.UID {
		node, draws = old.node, old.draws
	}
	topics := s.changePod(pod.Key, newPodEntry(pod, node, draws))
	if node != "" && pod.Node != "" {
		// Nobody was told when it was assumed, as that could have been taken back.
		topics = append(topics, Topic{Kind: TopicPods})
	}
	return topics
}

// AssumePod puts a pod on a node ahead of the API, with what it draws from it. It answers false, and does nothing, if
// the pod is not there or has a node already.
func (s *State) AssumePod(key Key, node string, draws ...Draw) bool {
	old := s.pods[key]
	if old == nil || old.pod.Node != "" {
		return false
	}
	s.occupy()
	s.setPod(key, newPodEntry(old.observed, node, draws))
	return true
}

// ForgetPod takes an assumption back.
func (s *State) ForgetPod(key Key) []Topic {
	old := s.pods[key]
	if old == nil || old.node == "" {
		return nil
	}
	return s.changePod(key, newPodEntry(old.observed, "", nil))
}

// DeletePod forgets a pod that is gone from the API.
func (s *State) DeletePod(key Key) []Topic {
	if _, ok := s.pods[key]; !ok {
		return nil
	}
	return s.changePod(key, nil)
}

func (s *State) changePod(key Key, entry *podEntry) []Topic {
	s.occupy()
	old, now := s.pods[key].effective(), entry.effective()
	bound := old != nil && s.pods[key].observed.Node != ""
	s.setPod(key, entry)
	topics := podTopics(old, now)
	if old != nil && now != nil && old.Counts() && now.Counts() && s.relabels(old, now) {
		topics = append(topics, Topic{Kind: TopicPods})
	}
	if bound && old.Extended != "" && (now == nil || now.Finished || now.UID != old.UID) {
		topics = append(topics, s.forgetMade(Key{Namespace: key.Namespace, Name: old.Extended})...)
	}
	return topics
}

// relabels reports whether a change of a bound pod's labels decides where other pods can be: a term of some pod picks it
// now and did not before, or the other way round, or its own terms, which may contain its labels, pick others.
func (s *State) relabels(old, now *Pod) bool {
	if maps.Equal(old.Shape.Labels, now.Shape.Labels) {
		return false
	}
	if old.Shape.Terms.ids() != now.Shape.Terms.ids() {
		return true
	}
	namespace, changed := s.namespaces[now.Key.Namespace], false
	for _, labels := range []map[string]string{old.Shape.Labels, now.Shape.Labels} {
		s.terms.asked.near(labels, func(count *termCount) {
			changed = changed || count.term.Matches(old.Shape, namespace) != count.term.Matches(now.Shape, namespace)
		})
	}
	return changed
}

// podTopics says what it means to others that a pod changed.
func podTopics(old, now *Pod) []Topic {
	if samePod(old, now) {
		return nil
	}
	var topics []Topic
	counted, counts := old != nil && old.Counts(), now != nil && now.Counts()
	if counted && (!counts || now.Node != old.Node) {
		topics = append(topics, roomOn(old.Node))
		for _, mount := range old.Mounts {
			topics = append(topics, Topic{Kind: TopicVolumeClaim, Key: Key{Namespace: old.Key.Namespace, Name: mount.Claim}})
		}
	}
	if counted && counts && now.Node == old.Node && now.takesLessThan(old) {
		topics = append(topics, roomOn(now.Node))
	}
	if counted && counts && old.Deleting != now.Deleting { // to preemption it is as good as terminated
		topics = append(topics, roomOn(now.Node))
	}
	// A spread constraint does not count pods that are being deleted.
	if counted != counts || counted && old.Deleting != now.Deleting {
		topics = append(topics, Topic{Kind: TopicPods})
	}
	for _, pod := range []*Pod{old, now} {
		if pod != nil && pod.Group != "" {
			topics = append(topics, Topic{Kind: TopicMembers, Key: pod.GroupKey()})
			break
		}
	}
	pod := now
	if pod == nil {
		pod = old
	}
	return append(topics, Topic{Kind: TopicPod, Key: pod.Key})
}

func (s *State) setPod(key Key, entry *podEntry) {
	old := s.pods[key]
	s.record(func() { s.setPod(key, old) })
	before, after := old.effective(), entry.effective()
	s.changeMember(before, after)
	if before != nil {
		s.leave(before)
		s.terms.drop(before)
	}
	if entry == nil {
		delete(s.pods, key)
		return
	}
	s.pods[key] = entry
	s.terms.need(s, after)
	s.enter(after)
}

func (s *State) enter(pod *Pod) {
	if !pod.Counts() {
		return
	}
	info := s.info(pod.Node)
	s.countPriority(pod.Priority, 1)
	s.countSet(info, pod, 1)
	s.services.count(info, pod, 1)
	if info.Pods == nil {
		info.Pods = map[Key]*Pod{}
	}
	info.Pods[pod.Key] = pod
	info.shift(pod.takes(), nil)
	s.weigh(info)
	for _, port := range pod.Shape.HostPorts {
		if info.Ports == nil {
			info.Ports = map[HostPort]int{}
		}
		info.Ports[port]++
	}
	s.volumes.count(pod, 1)
	s.terms.enterPod(s, info, pod)
}

func (s *State) leave(pod *Pod) {
	if !pod.Counts() {
		return
	}
	info := s.info(pod.Node)
	s.countPriority(pod.Priority, -1)
	s.countSet(info, pod, -1)
	s.services.count(info, pod, -1)
	s.volumes.count(pod, -1)
	s.terms.leavePod(s, info, pod)
	delete(info.Pods, pod.Key)
	info.shift(nil, pod.takes())
	s.weigh(info)
	for _, port := range pod.Shape.HostPorts {
		if info.Ports[port]--; info.Ports[port] == 0 {
			delete(info.Ports, port)
		}
	}
	s.dropIfEmpty(info)
}

func (s *State) countPriority(priority int32, by int) {
	if s.priorities[priority] += by; s.priorities[priority] == 0 {
		delete(s.priorities, priority)
	}
}

// AnyBelow says whether anybody on a node may be less important than that. PodGroups without pods count, too.
func (s *State) AnyBelow(priority int32) bool {
	for have := range s.priorities {
		if have < priority {
			return true
		}
	}
	return false
}

// changeMember keeps the members of groups; either pod may be nil.
func (s *State) changeMember(before, after *Pod) {
	if before != nil && after != nil && before.Group == after.Group {
		s.replaceMember(before, after)
		return
	}
	if before != nil && before.Group != "" {
		entry := s.groups[before.GroupKey()]
		if i, ok := entry.find(before.Key.Name); ok {
			entry.members = slices.Delete(entry.members, i, i+1)
		}
		*entry.census.of(before)--
		s.countOwn(entry, before, -1)
		s.dropGroupIfEmpty(before.GroupKey(), entry)
	}
	if after != nil && after.Group != "" {
		entry := s.groupEntry(after.GroupKey())
		i, _ := entry.find(after.Key.Name)
		entry.members = slices.Insert(entry.members, i, after)
		*entry.census.of(after)++
		s.countOwn(entry, after, 1)
	}
}

// replaceMember puts a pod in the place of what it was before, which is how most changes are: no member moves.
func (s *State) replaceMember(before, after *Pod) {
	if before.Group == "" {
		return
	}
	entry := s.groups[before.GroupKey()]
	if i, ok := entry.find(before.Key.Name); ok {
		entry.members[i] = after
	}
	*entry.census.of(before)--
	*entry.census.of(after)++
	if !sameUses(before, after) {
		s.countOwn(entry, before, -1)
		s.countOwn(entry, after, 1)
	}
}

// find is where a member is, or would be.
func (e *groupEntry) find(name string) (int, bool) {
	return slices.BinarySearchFunc(e.members, name, func(pod *Pod, name string) int { return compareStrings(pod.Key.Name, name) })
}

// of is the count that the pod belongs to.
func (c *Census) of(pod *Pod) *int {
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

func (s *State) groupEntry(key Key) *groupEntry {
	entry, ok := s.groups[key]
	if !ok {
		entry = &groupEntry{}
		s.groups[key] = entry
	}
	return entry
}

func (s *State) dropGroupIfEmpty(key Key, entry *groupEntry) {
	if entry.group == nil && len(entry.members) == 0 {
		delete(s.groups, key)
	}
}

// Group finds a PodGroup.
func (s *State) Group(key Key) (*Group, bool) {
	entry, ok := s.groups[key]
	if !ok || entry.group == nil {
		return nil, false
	}
	return entry.group, true
}

// Census counts the pods that name the group, which need not exist.
func (s *State) Census(key Key) Census {
	entry, ok := s.groups[key]
	if !ok {
		return Census{}
	}
	return entry.census
}

// Members are the pods that name the group, by name.
func (s *State) Members(key Key) []*Pod {
	entry, ok := s.groups[key]
	if !ok {
		return nil
	}
	return slices.Clone(entry.members)
}

// PutGroup adds or replaces a PodGroup.
func (s *State) PutGroup(group *Group) []Topic {
	if old, ok := s.Group(group.Key); ok && outdated(old.UID, group.UID, old.Version, group.Version) {
		return nil
	}
	s.occupy()
	old, _ := s.Group(group.Key)
	s.setGroup(group.Key, group)
	if sameGroup(old, group) {
		return nil
	}
	return s.groupTopics(old, group)
}

// DeleteGroup forgets a PodGroup.
func (s *State) DeleteGroup(key Key) []Topic {
	old, ok := s.Group(key)
	if !ok {
		return nil
	}
	s.setGroup(key, nil)
	return s.groupTopics(old, nil)
}

// groupTopics returns the topics of a change of a group; either version may be nil. What decides whether its pods may be
// victims decides what preemption can free on their nodes, and of the devices of the group's claims.
func (s *State) groupTopics(old, now *Group) []Topic {
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

// samePreemption reports whether two versions of a group make the same victims.
func samePreemption(a, b *Group) bool {
	priority := a.Priority == b.Priority || a.Priority != nil && b.Priority != nil && *a.Priority == *b.Priority
	return priority && a.UID == b.UID && a.Whole == b.Whole && a.Gang == b.Gang && a.MinCount == b.MinCount && a.Deleting == b.Deleting
}

func (s *State) setGroup(key Key, group *Group) {
	entry := s.groupEntry(key)
	old := entry.group
	s.record(func() { s.setGroup(key, old) })
	s.countGroup(old, -1)
	s.countGroup(group, 1)
	entry.group = group
	s.dropGroupIfEmpty(key, entry)
}

// countGroup counts a group without a priority of its own as the least: those of its pods may be any.
func (s *State) countGroup(group *Group, by int) {
	switch {
	case group == nil:
	case group.Priority == nil:
		s.countPriority(math.MinInt32, by)
	default:
		s.countPriority(*group.Priority, by)
	}
}
