package model

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"
)

// PodStore holds the pods, as observed and as assumed, and counts those on nodes.
type PodStore struct {
	entries    map[Key]*podEntry
	occupied   uint64                          // see Occupied
	priorities map[int32]int                   // number of counted pods and of PodGroups, by priority
	sets       map[types.UID]map[*NodeInfo]int // number of pods on nodes, by set and node
	state      *State
	log        *undoLog
}

func newPodStore(s *State) PodStore {
	return PodStore{
		entries: map[Key]*podEntry{}, priorities: map[int32]int{}, sets: map[types.UID]map[*NodeInfo]int{},
		state: s, log: &s.log,
	}
}

// Occupied returns a version that increases with every change of the pods that are on nodes, have a
// nomination, or are to be placed. Trials do not count.
func (s *PodStore) Occupied() uint64 { return s.occupied }

func (s *PodStore) occupy() {
	if !s.log.open {
		s.occupied++
	}
}

// podEntry is a pod as the API shows it, and the node on which it is assumed to be.
type podEntry struct {
	observed *Pod
	node     string // assumed node, or ""
	draws    []Draw // assumed together with the node
	pod      *Pod   // the effective pod
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

// Get returns a pod, including what is assumed.
func (s *PodStore) Get(key Key) (*Pod, bool) {
	pod := s.entries[key].effective()
	return pod, pod != nil
}

// Each calls f with every pod, including what is assumed, in no particular order.
func (s *PodStore) Each(f func(*Pod)) {
	for _, entry := range s.entries {
		f(entry.pod)
	}
}

// Assumed reports whether the pod's node is only assumed.
func (s *PodStore) Assumed(key Key) bool {
	entry, ok := s.entries[key]
	return ok && entry.node != ""
}

// Put adds or replaces a pod as the API shows it. An assumption ends when the API shows a node, or
// another pod of the same name.
func (s *PodStore) Put(pod *Pod) []Topic {
	old := s.entries[pod.Key]
	if old != nil && outdated(old.observed.UID, pod.UID, old.observed.Version, pod.Version) {
		return nil
	}
	node, draws := "", []Draw(nil)
	if old != nil && old.observed.UID == pod.UID {
		node, draws = old.node, old.draws
	}
	topics := s.change(pod.Key, newPodEntry(pod, node, draws))
	if node != "" && pod.Node != "" {
		// The assumption woke no unit, because it could have been reverted.
		topics = append(topics, Topic{Kind: TopicPods})
	}
	return topics
}

// Assume assigns a pod to a node before the API shows it, with its draws. It returns false and does
// nothing if the pod does not exist or has a node.
func (s *PodStore) Assume(key Key, node string, draws ...Draw) bool {
	old := s.entries[key]
	if old == nil || old.pod.Node != "" {
		return false
	}
	s.occupy()
	s.set(key, newPodEntry(old.observed, node, draws))
	return true
}

// Forget removes the assumption about a pod.
func (s *PodStore) Forget(key Key) []Topic {
	old := s.entries[key]
	if old == nil || old.node == "" {
		return nil
	}
	return s.change(key, newPodEntry(old.observed, "", nil))
}

// Delete removes a pod that was deleted from the API.
func (s *PodStore) Delete(key Key) []Topic {
	if _, ok := s.entries[key]; !ok {
		return nil
	}
	return s.change(key, nil)
}

func (s *PodStore) change(key Key, entry *podEntry) []Topic {
	s.occupy()
	old, now := s.entries[key].effective(), entry.effective()
	bound := old != nil && s.entries[key].observed.Node != ""
	s.set(key, entry)
	topics := podTopics(old, now)
	if old != nil && now != nil && old.Counts() && now.Counts() && s.relabels(old, now) {
		topics = append(topics, Topic{Kind: TopicPods})
	}
	if bound && (now == nil || now.Finished || now.UID != old.UID) {
		for _, name := range old.createdClaims() {
			topics = append(topics, s.state.Claims.forgetNew(Key{Namespace: key.Namespace, Name: name})...)
		}
	}
	return topics
}

// createdClaims returns the claims that a plan may have created for the pod.
func (p *Pod) createdClaims() []string {
	var names []string
	if p.Extended != "" {
		names = append(names, p.Extended)
	}
	for i := range p.Claims {
		if p.Claims[i].Owner == p.UID && p.Claims[i].Claim != "" {
			names = append(names, p.Claims[i].Claim)
		}
	}
	return names
}

// relabels reports whether a change of a bound pod's labels affects where other pods can be placed:
// a term of some pod matches only one of the two versions, or the pod's own terms, which can
// contain its labels, differ.
func (s *PodStore) relabels(old, now *Pod) bool {
	if maps.Equal(old.Shape.Labels, now.Shape.Labels) {
		return false
	}
	if old.Shape.Terms.ids() != now.Shape.Terms.ids() {
		return true
	}
	namespace, changed := s.state.Namespaces.labels[now.Key.Namespace], false
	for _, labels := range []map[string]string{old.Shape.Labels, now.Shape.Labels} {
		s.state.Terms.counted.forEachCandidate(labels, func(count *termCount) {
			changed = changed || count.term.Matches(old.Shape, namespace) != count.term.Matches(now.Shape, namespace)
		})
	}
	return changed
}

// podTopics returns the topics of a change of a pod.
func podTopics(old, now *Pod) []Topic {
	if samePod(old, now) {
		return nil
	}
	counted, counts := old != nil && old.Counts(), now != nil && now.Counts()
	topics := roomTopics(old, now, counted, counts)
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

// roomTopics returns the topics of the room that a pod gives back. It counted on a node before, and
// counts now.
func roomTopics(old, now *Pod, counted, counts bool) []Topic {
	if !counted {
		return nil
	}
	if !counts || now.Node != old.Node {
		topics := []Topic{roomOn(old.Node)}
		for _, mount := range old.Mounts {
			topics = append(topics, Topic{Kind: TopicVolumeClaim, Key: Key{Namespace: old.Key.Namespace, Name: mount.Claim}})
		}
		if counts && old.Deleting != now.Deleting {
			topics = append(topics, roomOn(now.Node))
		}
		return topics
	}
	// Preemption treats a pod that is being deleted as terminated.
	if now.takesLessThan(old) || old.Deleting != now.Deleting {
		return []Topic{roomOn(now.Node)}
	}
	return nil
}

func (s *PodStore) set(key Key, entry *podEntry) {
	old := s.entries[key]
	s.log.record(func() { s.set(key, old) })
	before, after := old.effective(), entry.effective()
	s.state.Groups.changeMember(before, after)
	if before != nil {
		s.removeFromNode(before)
		s.state.Terms.unregister(before)
	}
	if entry == nil {
		delete(s.entries, key)
		return
	}
	s.entries[key] = entry
	s.state.Terms.register(after)
	s.addToNode(after)
}

func (s *PodStore) addToNode(pod *Pod) {
	if !pod.Counts() {
		return
	}
	info := s.state.Nodes.info(pod.Node)
	s.countPriority(pod.Priority, 1)
	s.countSet(info, pod, 1)
	s.state.Services.count(info, pod, 1)
	if info.Pods == nil {
		info.Pods = map[Key]*Pod{}
	}
	info.Pods[pod.Key] = pod
	info.adjustFree(pod.nodeUsage(), nil)
	s.state.Nodes.updateLoad(info)
	for _, port := range pod.Shape.HostPorts {
		if info.Ports == nil {
			info.Ports = map[HostPort]int{}
		}
		info.Ports[port]++
	}
	s.state.Volumes.count(pod, 1)
	s.state.Terms.addPod(info, pod)
}

func (s *PodStore) removeFromNode(pod *Pod) {
	if !pod.Counts() {
		return
	}
	info := s.state.Nodes.info(pod.Node)
	s.countPriority(pod.Priority, -1)
	s.countSet(info, pod, -1)
	s.state.Services.count(info, pod, -1)
	s.state.Volumes.count(pod, -1)
	s.state.Terms.removePod(info, pod)
	delete(info.Pods, pod.Key)
	info.adjustFree(nil, pod.nodeUsage())
	s.state.Nodes.updateLoad(info)
	for _, port := range pod.Shape.HostPorts {
		if info.Ports[port]--; info.Ports[port] == 0 {
			delete(info.Ports, port)
		}
	}
	s.state.Nodes.dropIfEmpty(info)
}

func (s *PodStore) countPriority(priority int32, by int) {
	if s.priorities[priority] += by; s.priorities[priority] == 0 {
		delete(s.priorities, priority)
	}
}

// HasLowerPriority reports whether there is a pod on a node, or a PodGroup, with a lower priority.
func (s *PodStore) HasLowerPriority(priority int32) bool {
	for have := range s.priorities {
		if have < priority {
			return true
		}
	}
	return false
}

// OfSet returns the number of pods of a ReplicaSet, StatefulSet or ReplicationController on each
// node that has any, except pods that are being deleted. The map must not be changed.
func (s *PodStore) OfSet(set types.UID) map[*NodeInfo]int { return s.sets[set] }

// countSet adds by for a pod that is added to its node, or removed from it.
func (s *PodStore) countSet(info *NodeInfo, pod *Pod, by int) {
	if pod.Set == "" || pod.Deleting {
		return
	}
	on := s.sets[pod.Set]
	if on == nil {
		on = map[*NodeInfo]int{}
		s.sets[pod.Set] = on
	}
	if on[info] += by; on[info] == 0 {
		delete(on, info)
	}
	if len(on) == 0 {
		delete(s.sets, pod.Set)
	}
}
