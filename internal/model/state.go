package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// State is the one live picture of the cluster. It is not safe for concurrent use: one goroutine owns it.
type State struct {
	nodes        map[string]*NodeInfo
	order        []*NodeInfo // those with a Node, by name
	arrived      []*NodeInfo // those that belong there, too, and that nobody has asked for yet
	nodesVersion uint64
	numbered     int         // NodeInfos that ever were
	api          corev1.Node // see NodeInfo.API
	changes      changes

	pods       map[Key]*podEntry
	groups     map[Key]*groupEntry
	claims     map[Key]*claimEntry
	ownUsers   map[Key]map[*groupEntry]int // by claim: how often members use it otherwise than through their group
	classes    map[string]*Class
	pools      map[PoolID]*poolEntry
	numbers    []int // of pools that are gone
	slices     map[string]*Slice
	rules      map[string]*TaintRule
	drawing    int // pools with devices that draw from nodes
	namespaces map[string]labels.Set

	sharedPools []*poolEntry // those with other devices than those of one node; by ID
	sharing     uint64       // grows with every change of these
	stale       []*poolEntry // see settle

	volumes volumeIndex
	images  imageIndex

	services serviceIndex
	budgets  map[string][]*Budget // by namespace, then by name

	nominations map[UnitKey]*Nomination
	occupied    uint64                          // see Occupied
	priorities  map[int32]int                   // of pods that count, and of PodGroups
	sets        map[types.UID]map[*NodeInfo]int // pods on nodes, by their set and node
	zones       map[string]int                  // numbers of zones, from 1

	terms termIndex
	undo  []func() // inverse of each change since Begin, oldest first
	inTx  bool
}

// NodeInfo is a node with what is left of it.
type NodeInfo struct {
	Name  string
	Node  *Node            // nil: pods are bound to it, or pools are of it, but it is not known
	Free  Resources        // allocatable minus what pods take, unless that is beyond the ends of int64; may be negative
	Pods  map[Key]*Pod     // those that count; nil as long as there was none
	Ports map[HostPort]int // nil as long as there was none
	Zone  int32            // the number of its zone; 0: it is in none
	// Number is no other node's, and small: what is worked out for many nodes is kept by it.
	Number int32
	Load   float64 // mean share of cpu, memory and pods in use, 0 to 1 (more if there is too little)
	// Spare is what Free has of the CommonResources. Thousands of nodes are looked at for a pod.
	Spare [len(CommonResources)]int64

	local []*poolEntry // pools with devices of this node alone; by ID
	views []PoolView   // what was worked out for Pools
	seen  uint64       // State.sharing at that time; 0: it has to be worked out anew
	api   *corev1.Node // State.api

	changed       uint64    // version of State.changes at that time
	before, after *NodeInfo // its neighbours there
}

// API is the node for upstream's matchers, with its name and labels alone. It is good until the next call for any node.
func (n *NodeInfo) API() *corev1.Node {
	n.api.Name, n.api.Labels = n.Name, n.Node.Labels
	return n.api
}

// NewState is an empty State.
func NewState() *State {
	return &State{
		nodes:      map[string]*NodeInfo{},
		pods:       map[Key]*podEntry{},
		groups:     map[Key]*groupEntry{},
		claims:     map[Key]*claimEntry{},
		ownUsers:   map[Key]map[*groupEntry]int{},
		classes:    map[string]*Class{},
		pools:      map[PoolID]*poolEntry{},
		slices:     map[string]*Slice{},
		rules:      map[string]*TaintRule{},
		namespaces: map[string]labels.Set{},
		sharing:    1,
		volumes:    newVolumeIndex(),
		images:     newImageIndex(),
		services:   newServiceIndex(),
		budgets:    map[string][]*Budget{},

		nominations: map[UnitKey]*Nomination{},
		priorities:  map[int32]int{},
		sets:        map[types.UID]map[*NodeInfo]int{},
		zones:       map[string]int{},
		terms:       newTermIndex(),
	}
}

// record keeps the inverse of a change while a trial is open.
func (s *State) record(inverse func()) {
	if s.inTx {
		s.undo = append(s.undo, inverse)
	}
}

// outdated says whether an object of this version must not replace what is there.
func outdated(oldUID, newUID any, oldVersion, newVersion uint64) bool {
	return oldUID == newUID && oldVersion != 0 && newVersion != 0 && newVersion < oldVersion
}

// Nodes are the known nodes by name. The slice is the State's own: read it, do not keep it over a change.
func (s *State) Nodes() []*NodeInfo {
	if len(s.arrived) > 0 {
		slices.SortFunc(s.arrived, compareNodes)
		s.order = merged(s.order, s.arrived)
		s.arrived = s.arrived[:0]
	}
	return s.order
}

func compareNodes(a, b *NodeInfo) int { return compareStrings(a.Name, b.Name) }

// merged puts more nodes among others; both are by name.
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

// NodesVersion grows with every change of a node that placement depends on, resources in use excepted.
func (s *State) NodesVersion() uint64 { return s.nodesVersion }

// Occupied grows with every change of who is on nodes, or keeps a place there, or is to be placed, trials excepted.
func (s *State) Occupied() uint64 { return s.occupied }

func (s *State) occupy() {
	if !s.inTx {
		s.occupied++
	}
}

// Node finds a known node.
func (s *State) Node(name string) (*NodeInfo, bool) {
	info, ok := s.nodes[name]
	if !ok || info.Node == nil {
		return nil, false
	}
	return info, true
}

// PutNode adds or replaces a node.
func (s *State) PutNode(node *Node) []Topic {
	info := s.nodes[node.Name]
	if info != nil && info.Node != nil && outdated(info.Node.UID, node.UID, info.Node.Version, node.Version) {
		return nil
	}
	if info == nil || info.Node == nil {
		s.setNode(node.Name, node)
		return []Topic{{Kind: TopicNodes}, roomOn(node.Name), {Kind: TopicPods}}
	}
	old := info.Node.Allocatable
	sameLook, sameRoom := sameLook(info.Node, node), sameAmounts(old, node.Allocatable)
	s.setNode(node.Name, node)
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

// DeleteNode forgets a node. Its pods stay, bound to an unknown node. Units that wait for room on it wait in vain from then on.
func (s *State) DeleteNode(name string) []Topic {
	if _, ok := s.Node(name); !ok {
		return nil
	}
	s.setNode(name, nil)
	return []Topic{{Kind: TopicPods}, roomOn(name)}
}

// setNode puts the node (nil: takes it away) and keeps every index that depends on it.
func (s *State) setNode(name string, node *Node) {
	info := s.info(name)
	old := info.Node
	s.record(func() { s.setNode(name, old) })
	looks := old == nil || node == nil || !sameLook(old, node)
	if looks {
		s.terms.leaveNode(s, info)
	}
	info.Node = node
	info.shift(old.allocatable(), node.allocatable())
	if !sameImages(old, node) {
		s.images.leave(info, old)
		s.images.enter(info, node)
	}
	s.weigh(info)
	if !looks {
		s.dropIfEmpty(info)
		return
	}
	s.nodesVersion++
	info.seen, info.Zone = 0, 0
	if node != nil {
		info.Zone = int32(s.zoneOf(node))
	}
	s.terms.enterNode(s, info)
	s.reorder(info, old != nil, node != nil)
	s.dropIfEmpty(info)
}

func (s *State) reorder(info *NodeInfo, was, is bool) {
	if was == is {
		return
	}
	if is {
		s.arrived = append(s.arrived, info)
		return
	}
	if at, ok := slices.BinarySearchFunc(s.Nodes(), info, compareNodes); ok {
		s.order = slices.Delete(s.order, at, at+1)
	}
}

func (s *State) info(name string) *NodeInfo {
	info, ok := s.nodes[name]
	if !ok {
		info = &NodeInfo{Name: name, Number: int32(s.numbered), Free: Resources{}, api: &s.api}
		s.nodes[name] = info
		s.numbered++
	}
	return info
}

// weigh derives the load, and what is spare, from what is free.
func (s *State) weigh(n *NodeInfo) {
	s.changes.note(n)
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

func (s *State) dropIfEmpty(info *NodeInfo) {
	if info.Node == nil && len(info.Pods)+len(info.local) == 0 {
		delete(s.nodes, info.Name)
		s.changes.drop(info)
	}
}

// sameLook says whether two versions of a node differ in nothing but resources.
func sameLook(a, b *Node) bool {
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

// sameKinds says whether there is something of the same resources, however much.
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

// PutNamespace records a namespace's labels, which pod affinity may select by; nil labels forget it.
func (s *State) PutNamespace(name string, set map[string]string) []Topic {
	old := s.namespaces[name]
	if set != nil && old != nil && labels.Equals(old, set) {
		return nil
	}
	s.setNamespace(name, set)
	return []Topic{{Kind: TopicPods}}
}

func (s *State) setNamespace(name string, set labels.Set) {
	old := s.namespaces[name]
	s.record(func() { s.setNamespace(name, old) })
	if set == nil {
		delete(s.namespaces, name)
	} else {
		s.namespaces[name] = set
	}
	s.terms.recount(s)
}

// Class finds a DeviceClass.
func (s *State) Class(name string) (*Class, bool) {
	class, ok := s.classes[name]
	return class, ok
}

// PutClass adds or replaces a DeviceClass.
func (s *State) PutClass(class *Class) []Topic {
	old := s.classes[class.Name]
	if old != nil && outdated(old.UID, class.UID, old.Version, class.Version) {
		return nil
	}
	s.setClass(class.Name, class)
	if sameClass(old, class) {
		return nil
	}
	return append([]Topic{{Kind: TopicClass, Key: Key{Name: class.Name}}, {Kind: TopicDevices}}, offerTopics(old, class)...)
}

// DeleteClass forgets a DeviceClass. Another one may offer the same extended resource.
func (s *State) DeleteClass(name string) []Topic {
	old, ok := s.classes[name]
	if !ok {
		return nil
	}
	s.setClass(name, nil)
	return offerTopics(old, nil)
}

func (s *State) setClass(name string, class *Class) {
	old := s.classes[name]
	s.record(func() { s.setClass(name, old) })
	if class == nil {
		delete(s.classes, name)
	} else {
		s.classes[name] = class
	}
}
