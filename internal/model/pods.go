package model

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"
)

// PodStore holds the pods, as observed and as assumed, and counts those on nodes.
type PodStore struct {
	entries    map[Key]*podEntry
	occupied   uint64                          // see Occupied
	priorities map[int32]int                   // of pods that count, and of PodGroups
	sets       map[types.UID]map[*NodeInfo]int // pods on nodes, by their set and node
	state      *State
	log        *undoLog
}

func newPodStore(s *State) PodStore {
	return PodStore{
		entries: map[Key]*podEntry{}, priorities: map[int32]int{}, sets: map[types.UID]map[*NodeInfo]int{},
		state: s, log: &s.log,
	}
}

// Occupied grows with every change of who is on nodes, or keeps a place there, or is to be placed, trials excepted.
func (s *PodStore) Occupied() uint64 { return s.occupied }

func (s *PodStore) occupy() {
	if !s.log.open {
		s.occupied++
	}
}

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

// Get finds a pod as it is or is assumed to be.
func (s *PodStore) Get(key Key) (*Pod, bool) {
	pod := s.entries[key].effective()
	return pod, pod != nil
}

// Assumed says whether the pod's node is assumed only.
func (s *PodStore) Assumed(key Key) bool {
	entry, ok := s.entries[key]
	return ok && entry.node != ""
}

// Put adds or replaces a pod as the API shows it. An assumption ends when the API shows a node, or another pod of
// the same name.
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
		// Nobody was told when it was assumed, as that could have been taken back.
		topics = append(topics, Topic{Kind: TopicPods})
	}
	return topics
}

// Assume puts a pod on a node ahead of the API, with what it draws from it. It answers false, and does nothing, if
// the pod is not there or has a node already.
func (s *PodStore) Assume(key Key, node string, draws ...Draw) bool {
	old := s.entries[key]
	if old == nil || old.pod.Node != "" {
		return false
	}
	s.occupy()
	s.set(key, newPodEntry(old.observed, node, draws))
	return true
}

// Forget takes an assumption back.
func (s *PodStore) Forget(key Key) []Topic {
	old := s.entries[key]
	if old == nil || old.node == "" {
		return nil
	}
	return s.change(key, newPodEntry(old.observed, "", nil))
}

// Delete forgets a pod that is gone from the API.
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
	if bound && old.Extended != "" && (now == nil || now.Finished || now.UID != old.UID) {
		topics = append(topics, s.state.Claims.forgetMade(Key{Namespace: key.Namespace, Name: old.Extended})...)
	}
	return topics
}

// relabels reports whether a change of a bound pod's labels decides where other pods can be: a term of some pod picks it
// now and did not before, or the other way round, or its own terms, which may contain its labels, pick others.
func (s *PodStore) relabels(old, now *Pod) bool {
	if maps.Equal(old.Shape.Labels, now.Shape.Labels) {
		return false
	}
	if old.Shape.Terms.ids() != now.Shape.Terms.ids() {
		return true
	}
	namespace, changed := s.state.Namespaces.labels[now.Key.Namespace], false
	for _, labels := range []map[string]string{old.Shape.Labels, now.Shape.Labels} {
		s.state.Terms.asked.near(labels, func(count *termCount) {
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

func (s *PodStore) set(key Key, entry *podEntry) {
	old := s.entries[key]
	s.log.record(func() { s.set(key, old) })
	before, after := old.effective(), entry.effective()
	s.state.Groups.changeMember(before, after)
	if before != nil {
		s.leave(before)
		s.state.Terms.drop(before)
	}
	if entry == nil {
		delete(s.entries, key)
		return
	}
	s.entries[key] = entry
	s.state.Terms.need(after)
	s.enter(after)
}

func (s *PodStore) enter(pod *Pod) {
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
	info.shift(pod.takes(), nil)
	s.state.Nodes.weigh(info)
	for _, port := range pod.Shape.HostPorts {
		if info.Ports == nil {
			info.Ports = map[HostPort]int{}
		}
		info.Ports[port]++
	}
	s.state.Volumes.count(pod, 1)
	s.state.Terms.enterPod(info, pod)
}

func (s *PodStore) leave(pod *Pod) {
	if !pod.Counts() {
		return
	}
	info := s.state.Nodes.info(pod.Node)
	s.countPriority(pod.Priority, -1)
	s.countSet(info, pod, -1)
	s.state.Services.count(info, pod, -1)
	s.state.Volumes.count(pod, -1)
	s.state.Terms.leavePod(info, pod)
	delete(info.Pods, pod.Key)
	info.shift(nil, pod.takes())
	s.state.Nodes.weigh(info)
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

// AnyBelow says whether anybody on a node may be less important than that. PodGroups without pods count, too.
func (s *PodStore) AnyBelow(priority int32) bool {
	for have := range s.priorities {
		if have < priority {
			return true
		}
	}
	return false
}

// OfSet is how many pods of a ReplicaSet or StatefulSet are on each node that has any, other than those that are being
// deleted. It is the State's own.
func (s *PodStore) OfSet(set types.UID) map[*NodeInfo]int { return s.sets[set] }

// countSet counts a pod that comes to its node, or leaves it.
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
