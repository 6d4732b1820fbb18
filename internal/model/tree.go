package model

import (
	"fmt"
	"slices"
)

// Tree is a CompositePodGroup with the groups below it, or one PodGroup.
type Tree struct {
	Composite *Composite // nil for a PodGroup
	Children  []*Tree    // CompositePodGroups, then PodGroups, by name
	Group     *Group     // nil for a CompositePodGroup
	Census    Census     // census of the PodGroup
	// Problem is why no pod of it can be placed whatever the nodes have, or "".
	Problem string
}

// Tree returns the CompositePodGroup with this name and the groups below it. It need not exist.
func (s *State) Tree(key Key) *Tree { return s.tree(key, 1) }

func (s *State) tree(key Key, level int) *Tree {
	t := &Tree{}
	entry, ok := s.Groups.Composites.entries[key]
	if !ok || entry.composite == nil {
		t.Composite = &Composite{Key: key, MinGroups: 1}
		t.Problem = fmt.Sprintf("CompositePodGroup %s does not exist", key)
	} else {
		t.Composite = entry.composite
		if field := t.Composite.Unknown; field != "" {
			t.Problem = fmt.Sprintf("CompositePodGroup %s: %s is not known to this version of allot", key, field)
		}
	}
	if !ok {
		return t
	}
	if level >= MaxTreeDepth {
		t.Problem = fmt.Sprintf("CompositePodGroup %s: the tree has more than %d levels, or a cycle", key, MaxTreeDepth)
		return t
	}
	for _, name := range entry.composites {
		t.Children = append(t.Children, s.tree(Key{Namespace: key.Namespace, Name: name}, level+1))
	}
	for _, name := range entry.groups {
		group, _ := s.Groups.Get(Key{Namespace: key.Namespace, Name: name})
		t.Children = append(t.Children, s.leaf(group))
	}
	return t
}

func (s *State) leaf(group *Group) *Tree {
	t := &Tree{Group: group, Census: s.Groups.Census(group.Key)}
	switch {
	case group.Unknown != "":
		t.Problem = fmt.Sprintf("PodGroup %s: %s is not known to this version of allot", group.Key, group.Unknown)
	case t.Census.Gated > 0:
		t.Problem = fmt.Sprintf("PodGroup %s: waiting for the scheduling gates of %d pod(s)", group.Key, t.Census.Gated)
	case t.Census.Quorum() < t.Min() && !t.IsPlaced():
		t.Problem = fmt.Sprintf("PodGroup %s: %d of %d pods exist", group.Key, t.Census.Quorum(), t.Min())
	}
	return t
}

// Key returns the key of the CompositePodGroup or PodGroup.
func (t *Tree) Key() Key {
	if t.Group != nil {
		return t.Group.Key
	}
	return t.Composite.Key
}

// Topology returns the node label of which all pods must be in one domain, or "".
func (t *Tree) Topology() string {
	if t.Group != nil {
		return t.Group.Topology
	}
	return t.Composite.Topology
}

// Min returns how many pods of a PodGroup, or children, are placed together.
func (t *Tree) Min() int {
	switch {
	case t.Group == nil:
		return t.Composite.MinGroups
	case t.Group.Gang:
		return t.Group.MinCount
	}
	return 1
}

// IsPlaced reports whether enough pods have a node. Finished pods count, because they were placed.
func (t *Tree) IsPlaced() bool {
	if t.Group != nil {
		return t.Census.Bound+t.Census.Finished >= t.Min()
	}
	return t.count((*Tree).IsPlaced) >= t.Min()
}

// CanBePlaced reports whether there are enough pods, as far as it can be known without the nodes.
func (t *Tree) CanBePlaced() bool {
	switch {
	case t.IsPlaced():
		return true
	case t.Problem != "":
		return false
	case t.Group != nil:
		return true
	}
	return t.count((*Tree).CanBePlaced) >= t.Min()
}

func (t *Tree) count(is func(*Tree) bool) int {
	n := 0
	for _, child := range t.Children {
		if is(child) {
			n++
		}
	}
	return n
}

// Need returns the smallest number of pods that must be placed in addition.
func (t *Tree) Need() int {
	if t.Group != nil {
		return max(0, t.Min()-t.Census.Bound-t.Census.Finished)
	}
	needs := make([]int, 0, len(t.Children))
	for _, child := range t.Children {
		needs = append(needs, child.Need())
	}
	slices.Sort(needs)
	sum := 0
	for _, n := range needs[:min(max(0, t.Min()), len(needs))] {
		sum += n
	}
	return sum
}

// Leaves yields the PodGroups.
func (t *Tree) Leaves(yield func(*Tree) bool) { t.leaves(yield) }

func (t *Tree) leaves(yield func(*Tree) bool) bool {
	if t.Group != nil {
		return yield(t)
	}
	for _, child := range t.Children {
		if !child.leaves(yield) {
			return false
		}
	}
	return true
}

// Composites yields the CompositePodGroups.
func (t *Tree) Composites(yield func(*Composite) bool) { t.composites(yield) }

func (t *Tree) composites(yield func(*Composite) bool) bool {
	if t.Composite == nil {
		return true
	}
	if !yield(t.Composite) {
		return false
	}
	for _, child := range t.Children {
		if !child.composites(yield) {
			return false
		}
	}
	return true
}

// Problems returns why children that are needed cannot be placed.
func (t *Tree) Problems() []string {
	switch {
	case t.CanBePlaced():
		return nil
	case t.Problem != "":
		return []string{t.Problem}
	}
	text := fmt.Sprintf("CompositePodGroup %s: %d of %d groups have enough pods", t.Key(), t.count((*Tree).CanBePlaced), t.Min())
	problems := []string{text}
	for _, child := range t.Children {
		problems = append(problems, child.Problems()...)
	}
	return problems
}

// UnitOfGroup returns the unit in which the pods of a PodGroup are placed: the topmost
// CompositePodGroup above it that has not been placed, or the PodGroup itself.
func (s *State) UnitOfGroup(group Key) UnitKey {
	unit := UnitKey{Group: true, Key: group}
	for _, key := range s.Above(group) {
		if !s.isTreePlaced(key) {
			unit = UnitKey{Tree: true, Key: key}
		}
	}
	return unit
}

// UnitOfPod returns the unit in which a pod is placed.
func (s *State) UnitOfPod(pod *Pod) UnitKey {
	if pod.Group == "" {
		return pod.UnitKey()
	}
	return s.UnitOfGroup(pod.GroupKey())
}

// IsTreeClaim reports whether the claim was generated for a CompositePodGroup above the PodGroup.
// Then that is its consumer, for all pods below it.
func (s *State) IsTreeClaim(group Key, claim *Claim) bool {
	return claim.Controller != "" && slices.ContainsFunc(s.Above(group), func(key Key) bool {
		composite, ok := s.Groups.Composites.Get(key)
		return ok && composite.UID == claim.Controller
	})
}

// Above returns the CompositePodGroups above a PodGroup, the closest first. They need not exist.
func (s *State) Above(group Key) []Key {
	g, ok := s.Groups.Get(group)
	if !ok {
		return nil
	}
	return s.ancestors(Key{Namespace: group.Namespace, Name: g.Parent})
}

// TreesAbove returns the CompositePodGroups above a unit.
func (s *State) TreesAbove(unit UnitKey) []Key {
	switch {
	case unit.Group:
		return s.Above(unit.Key)
	case unit.Tree:
		return s.ancestors(unit.Key)[1:]
	}
	return nil
}

// Members returns the pods of a PodGroup, or of all PodGroups of a tree.
func (s *State) Members(unit UnitKey) []*Pod {
	if !unit.Tree {
		return s.Groups.Members(unit.Key)
	}
	var pods []*Pod
	for leaf := range s.Tree(unit.Key).Leaves {
		pods = append(pods, s.Groups.Members(leaf.Group.Key)...)
	}
	return pods
}

// Groups returns the PodGroups of the tree.
func (t *Tree) Groups() []*Group {
	var groups []*Group
	for leaf := range t.Leaves {
		groups = append(groups, leaf.Group)
	}
	return groups
}

// Groups returns the PodGroups of the unit.
func (u *Unit) Groups() []*Group {
	switch {
	case u.Group != nil:
		return []*Group{u.Group}
	case u.Tree == nil:
		return nil
	}
	return u.Tree.Groups()
}

// GroupKeys returns the keys of the PodGroups of the unit.
func (u *Unit) GroupKeys() []Key {
	var keys []Key
	for _, group := range u.Groups() {
		keys = append(keys, group.Key)
	}
	return keys
}

// Topology returns the node label of which all pods of the unit must be in one domain, or "".
func (u *Unit) Topology() string {
	switch {
	case u.Tree != nil:
		return u.Tree.Topology()
	case u.Group != nil:
		return u.Group.Topology
	}
	return ""
}

// RootOf returns the topmost CompositePodGroup of a unit. It need not exist.
func (s *State) RootOf(unit UnitKey) (root Key, ok bool) {
	above := s.TreesAbove(unit)
	switch {
	case len(above) > 0:
		return above[len(above)-1], true
	case unit.Tree:
		return unit.Key, true
	}
	return Key{}, false
}

// ancestors returns a CompositePodGroup and those above it.
func (s *State) ancestors(key Key) []Key {
	var list []Key
	for key.Name != "" && len(list) < MaxTreeDepth {
		list = append(list, key)
		c, ok := s.Groups.Composites.Get(key)
		if !ok {
			break
		}
		key.Name = c.Parent
	}
	return list
}

// isTreePlaced reports whether a CompositePodGroup is placed. What else is below it then is placed
// separately: late members, and those that replace lost ones.
func (s *State) isTreePlaced(key Key) bool {
	_, ok := s.Groups.Composites.Get(key)
	return ok && s.Tree(key).IsPlaced()
}

// UnitsBelow returns the units in which the pods below a CompositePodGroup are placed.
func (s *State) UnitsBelow(key Key) []UnitKey {
	var units []UnitKey
	for leaf := range s.Tree(key).Leaves {
		if unit := s.UnitOfGroup(leaf.Group.Key); !slices.Contains(units, unit) {
			units = append(units, unit)
		}
	}
	return units
}

// UnitOf returns the unit in which the pods of a group, or a pod, are placed now.
func (s *State) UnitOf(key UnitKey) UnitKey {
	if key.Group {
		return s.UnitOfGroup(key.Key)
	}
	return key
}

// UnitsOf returns the units in which the pods of a group, a tree or a pod are placed now. A key that
// was or will be one of a unit is included, so that a queue forgets it.
func (s *State) UnitsOf(key UnitKey) []UnitKey {
	units := []UnitKey{key}
	switch {
	case key.Group:
		units = append(units, s.UnitOfGroup(key.Key))
	case key.Tree:
		units = append(units, s.UnitsBelow(key.Key)...)
	}
	if slices.Contains(units[1:], key) {
		return units[1:]
	}
	return units
}

// treeUnit returns the unit of a CompositePodGroup, if its pods are placed together.
func (s *State) treeUnit(key UnitKey) (*Unit, bool) {
	for _, above := range s.TreesAbove(key) {
		if !s.isTreePlaced(above) {
			return nil, false
		}
	}
	tree := s.Tree(key.Key)
	if tree.IsPlaced() {
		return nil, false
	}
	unit := &Unit{Key: key, Tree: tree}
	ours := false
	for leaf := range tree.Leaves {
		for _, pod := range s.Groups.entries[leaf.Group.Key].members {
			if pod.Ready() {
				unit.Pods = append(unit.Pods, pod)
			}
			ours = ours || pod.Node != "" && !pod.Deleting && !pod.Foreign && !pod.Finished
		}
	}
	unit.HalfBound = ours && !tree.Composite.Scheduled
	if len(unit.Pods) == 0 && !unit.HalfBound {
		return nil, false
	}
	unit.Min = max(1, tree.Need())
	unit.rank()
	s.rankByRoot(unit)
	return unit, true
}

// rankByRoot sets the position in the queue of a unit that is, or is in, a tree: by the priority and
// the age of the root.
func (s *State) rankByRoot(unit *Unit) {
	key, in := s.RootOf(unit.Key)
	root, ok := s.Groups.Composites.Get(key)
	if !in || !ok {
		return
	}
	unit.Created = root.Created
	if root.Priority != nil {
		unit.Priority = *root.Priority
	}
	if root.NeverPreempts != nil {
		unit.NeverPreempts = *root.NeverPreempts
	}
}

// TreePin is a domain in which pods of a tree have to be because others of it are there.
type TreePin struct {
	Composite  Key
	Label      string
	Value      string
	Conflict   string // why the bound pods do not have one domain, or ""
	Restricted bool   // whether any pod is bound
}

// PinsAbove returns the domains to which the CompositePodGroups above a unit restrict its pods.
func (s *State) PinsAbove(unit *Unit) []TreePin {
	var pins []TreePin
	for _, key := range s.TreesAbove(unit.Key) {
		if c, ok := s.Groups.Composites.Get(key); ok && c.Topology != "" {
			if pin := s.PinOf(s.Tree(key)); pin.Restricted {
				pins = append(pins, pin)
			}
		}
	}
	return pins
}

// PinOf returns the domain of the bound pods of a tree with a topology.
func (s *State) PinOf(t *Tree) TreePin {
	pin := TreePin{Composite: t.Key(), Label: t.Topology()}
	for leaf := range t.Leaves {
		for _, pod := range s.Groups.entries[leaf.Group.Key].members {
			if !pod.Counts() || pod.Deleting {
				continue
			}
			value, ok := "", false
			if info, known := s.Nodes.Get(pod.Node); known {
				value, ok = info.Node.Labels[pin.Label]
			}
			switch {
			case !ok:
				pin.Conflict = fmt.Sprintf("pod %s of %s is on node %s, which has no label %s", pod.Key.Name, t.Key(), pod.Node, pin.Label)
			case pin.Restricted && pin.Value != value:
				pin.Conflict = fmt.Sprintf("pods of %s are in more than one domain of %s: %s and %s", t.Key(), pin.Label, pin.Value, value)
			}
			pin.Value, pin.Restricted = value, true
		}
	}
	return pin
}
