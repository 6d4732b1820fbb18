package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// NodeStore holds the nodes, with their pods and free resources.
type NodeStore struct {
	byName   map[string]*NodeInfo
	order    []*NodeInfo // known nodes, by name
	arrived  []*NodeInfo // known nodes that List has not sorted into order yet
	version  uint64
	numbered int         // number of NodeInfos that were ever created
	api      corev1.Node // see NodeInfo.API
	changes  changes
	zones    map[string]int // numbers of zones, from 1
	state    *State
	log      *undoLog
}

func newNodeStore(s *State) NodeStore {
	return NodeStore{byName: map[string]*NodeInfo{}, zones: map[string]int{}, state: s, log: &s.log}
}

// Numbers returns a number that is larger than NodeInfo.Number of every node.
func (s *NodeStore) Numbers() int { return s.numbered }

// List returns the known nodes by name. The slice must not be changed, and is only valid until the
// next change.
func (s *NodeStore) List() []*NodeInfo {
	if len(s.arrived) > 0 {
		slices.SortFunc(s.arrived, compareNodes)
		s.order = merged(s.order, s.arrived)
		s.arrived = s.arrived[:0]
	}
	return s.order
}

func compareNodes(a, b *NodeInfo) int { return compareStrings(a.Name, b.Name) }

// merged merges more nodes into a slice; both are sorted by name.
func merged(nodes, more []*NodeInfo) []*NodeInfo {
	at := len(nodes)
	nodes = append(nodes, more...)
	for to := len(nodes) - 1; len(more) > 0; to-- {
		if last := len(more) - 1; at > 0 && compareNodes(nodes[at-1], more[last]) > 0 {
			at--
			nodes[to] = nodes[at]
		} else {
			nodes[to], more = more[last], more[:last]
		}
	}
	return nodes
}

// Version returns a version that increases with every change of a node that placement depends on,
// except resources in use.
func (s *NodeStore) Version() uint64 { return s.version }

// Get returns a known node.
func (s *NodeStore) Get(name string) (*NodeInfo, bool) {
	info, ok := s.byName[name]
	if !ok || info.Node == nil {
		return nil, false
	}
	return info, true
}

// Put adds or replaces a node.
func (s *NodeStore) Put(node *Node) []Topic {
	info := s.byName[node.Name]
	if info != nil && info.Node != nil && outdated(info.Node.UID, node.UID, info.Node.Version, node.Version) {
		return nil
	}
	if info == nil || info.Node == nil {
		s.set(node.Name, node)
		return []Topic{{Kind: TopicNodes}, roomOn(node.Name), {Kind: TopicPods}}
	}
	old := info.Node.Allocatable
	sameLook, sameRoom := sameProperties(info.Node, node), sameAmounts(old, node.Allocatable)
	s.set(node.Name, node)
	var topics []Topic
	switch {
	case !sameLook:
		topics = append(topics, Topic{Kind: TopicNodes}, Topic{Kind: TopicPods})
	case !sameKinds(old, node.Allocatable):
		topics = append(topics, Topic{Kind: TopicNodes})
	}
	if !sameRoom {
		topics = append(topics, roomOn(node.Name))
	}
	return topics
}

func roomOn(node string) Topic { return Topic{Kind: TopicRoom, Key: Key{Name: node}} }

// Delete removes a node. Its pods remain, bound to an unknown node. A unit that waits for resources
// on it is not woken by it any more.
func (s *NodeStore) Delete(name string) []Topic {
	if _, ok := s.Get(name); !ok {
		return nil
	}
	s.set(name, nil)
	return []Topic{{Kind: TopicPods}, roomOn(name)}
}

// set adds or replaces the node (nil removes it) and updates every index that depends on it.
func (s *NodeStore) set(name string, node *Node) {
	info := s.info(name)
	old := info.Node
	s.log.record(func() { s.set(name, old) })
	looks := old == nil || node == nil || !sameProperties(old, node)
	if looks {
		s.state.Terms.removeNode(info)
	}
	info.Node = node
	info.adjustFree(old.allocatable(), node.allocatable())
	if !sameImages(old, node) {
		s.state.Images.remove(info, old)
		s.state.Images.add(info, node)
	}
	s.updateLoad(info)
	if !looks {
		s.dropIfEmpty(info)
		return
	}
	s.version++
	info.seen, info.Zone = 0, 0
	if node != nil {
		info.Zone = int32(s.zoneOf(node))
	}
	s.state.Terms.addNode(info)
	s.reorder(info, old != nil, node != nil)
	s.dropIfEmpty(info)
}

func (s *NodeStore) reorder(info *NodeInfo, was, is bool) {
	if was == is {
		return
	}
	if is {
		s.arrived = append(s.arrived, info)
		return
	}
	if at, ok := slices.BinarySearchFunc(s.List(), info, compareNodes); ok {
		s.order = slices.Delete(s.order, at, at+1)
	}
}

func (s *NodeStore) info(name string) *NodeInfo {
	info, ok := s.byName[name]
	if !ok {
		info = &NodeInfo{Name: name, Number: int32(s.numbered), Free: Resources{}, api: &s.api}
		s.byName[name] = info
		s.numbered++
	}
	return info
}

// updateLoad derives Load and Spare from Free.
func (s *NodeStore) updateLoad(n *NodeInfo) {
	s.changes.moveToEnd(n)
	n.Load = 0
	for i, name := range CommonResources {
		n.Spare[i] = n.Free[name]
	}
	if n.Node == nil {
		return
	}
	for i, name := range CommonResources {
		if has := n.Node.Allocatable[name]; has > 0 {
			n.Load += (1 - float64(n.Spare[i])/float64(has)) / float64(len(CommonResources))
		}
	}
}

func (s *NodeStore) dropIfEmpty(info *NodeInfo) {
	if info.Node == nil && len(info.Pods)+len(info.local) == 0 {
		delete(s.byName, info.Name)
		s.changes.remove(info)
	}
}

// sameProperties reports whether two versions of a node differ in resources only.
func sameProperties(a, b *Node) bool {
	if a.Unschedulable != b.Unschedulable || a.SkipsOperations != b.SkipsOperations || len(a.Labels) != len(b.Labels) {
		return false
	}
	for key, value := range a.Labels {
		if other, ok := b.Labels[key]; !ok || other != value {
			return false
		}
	}
	return slices.EqualFunc(a.Taints, b.Taints, func(x, y corev1.Taint) bool {
		return x.Key == y.Key && x.Value == y.Value && x.Effect == y.Effect
	})
}

// sameKinds reports whether both have the same resources, in whatever amounts.
func sameKinds(a, b Resources) bool {
	covers := func(r, of Resources) bool {
		for name, amount := range of {
			if amount > 0 && r[name] <= 0 {
				return false
			}
		}
		return true
	}
	return covers(a, b) && covers(b, a)
}

func sameAmounts(a, b Resources) bool {
	if len(a) != len(b) {
		return false
	}
	for name, amount := range a {
		if other, ok := b[name]; !ok || other != amount {
			return false
		}
	}
	return true
}

// Zones returns a number that is larger than NodeInfo.Zone of every node.
func (s *NodeStore) Zones() int { return len(s.zones) + 1 }

// zoneOf returns the number of the node's zone. Zones are numbered in the order in which they are
// seen, and a number is never reused.
func (s *NodeStore) zoneOf(node *Node) int {
	zone := node.Labels[corev1.LabelTopologyZone]
	if zone == "" {
		return 0
	}
	number, ok := s.zones[zone]
	if !ok {
		number = len(s.zones) + 1
		s.zones[zone] = number
	}
	return number
}
