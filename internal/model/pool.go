package model

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Pool contains the devices of all slices of one pool. It is never changed: a change of a slice
// creates a new Pool, so that its address identifies the version.
type Pool struct {
	ID         PoolID
	Generation int64 // the newest generation of its slices
	Slices     int64 // number of slices of that generation
	Want       int64 // resourceSliceCount: how many there should be
	Problem    string
	Devices    []Device // ordered by slice name, then as published
	Counters   []resourcev1.CounterSet

	reaches []reach
	scopes  []int32 // index into reaches by device; nil if it is 0 for all
	byName  []int32 // indices of devices, sorted by name; nil if they are published in that order
}

// reach is the set of devices of a pool with the same scope.
type reach struct {
	scope    Scope
	selector *nodeaffinity.LazyErrorNodeSelector // of scope.Selector
	devices  Bits
}

// Usable reports whether devices of the pool can be allocated, and why not: it is incomplete, or
// its slices contradict each other.
func (p *Pool) Usable() (bool, string) {
	if p.Problem != "" {
		return false, fmt.Sprintf("pool %s: %s", p.ID, p.Problem)
	}
	if p.Slices < p.Want {
		return false, fmt.Sprintf("pool %s is incomplete: %d of %d slices of generation %d", p.ID, p.Slices, p.Want,
			p.Generation)
	}
	return true, ""
}

// IsUsable returns the first result of Usable.
func (p *Pool) IsUsable() bool { return p.Problem == "" && p.Slices >= p.Want }

// Index returns the index of the device with this name.
func (p *Pool) Index(device string) (int, bool) {
	at, ok := sort.Find(len(p.Devices), func(n int) int { return strings.Compare(device, p.nameOf(n)) })
	if ok && p.byName != nil {
		at = int(p.byName[at])
	}
	return at, ok
}

// nameOf returns the name of the n-th device in the order of names.
func (p *Pool) nameOf(n int) string {
	if p.byName != nil {
		n = int(p.byName[n])
	}
	return p.Devices[n].Name
}

// Any reports whether like returns true for the usage of any device.
func (p *Pool) Any(like func(*Usage) bool) bool {
	for i := range p.Devices {
		if usage := p.Devices[i].Usage; (i == 0 || usage != p.Devices[i-1].Usage) && like(usage) {
			return true
		}
	}
	return false
}

// DeviceID returns the ID of the device with index i.
func (p *Pool) DeviceID(i int) DeviceID {
	return DeviceID{Driver: p.ID.Driver, Pool: p.ID.Pool, Device: p.Devices[i].Name}
}

// newPool builds a pool from slices of any order and generation.
func newPool(parts []*Slice) *Pool {
	p := &Pool{ID: parts[0].Pool}
	parts = p.newest(parts)
	p.Devices = parts[0].Devices
	if len(parts) > 1 {
		p.Devices = make([]Device, 0, p.size(parts))
	}
	for _, part := range parts {
		if len(parts) > 1 {
			p.Devices = append(p.Devices, part.Devices...)
		}
		p.add(part)
	}
	p.sort()
	if p.Slices > p.Want && p.Problem == "" {
		p.Problem = fmt.Sprintf("%d slices, but resourceSliceCount is %d", p.Slices, p.Want)
	}
	if p.Problem == "" && p.Slices >= p.Want {
		p.Problem = p.unknownCounter()
	}
	p.group(parts)
	return p
}

// unknownCounter describes a device that consumes a counter that the pool does not have, or returns
// "".
func (p *Pool) unknownCounter() string {
	var sets map[string]map[string]resourcev1.Counter
	for i := range p.Devices {
		for _, consumed := range p.Devices[i].ConsumesCounters {
			if sets == nil {
				sets = p.counterSets()
			}
			counters, ok := sets[consumed.CounterSet]
			if !ok {
				return fmt.Sprintf("device %s consumes from counter set %s, which the pool does not have", p.Devices[i].Name,
					consumed.CounterSet)
			}
			for _, name := range slices.Sorted(maps.Keys(consumed.Counters)) {
				if _, ok := counters[name]; !ok {
					return fmt.Sprintf("device %s consumes counter %s/%s, which the pool does not have", p.Devices[i].Name,
						consumed.CounterSet, name)
				}
			}
		}
	}
	return ""
}

func (p *Pool) counterSets() map[string]map[string]resourcev1.Counter {
	sets := make(map[string]map[string]resourcev1.Counter, len(p.Counters))
	for i := range p.Counters {
		sets[p.Counters[i].Name] = p.Counters[i].Counters
	}
	return sets
}

// newest returns the slices of the newest generation, by name.
func (p *Pool) newest(parts []*Slice) []*Slice {
	for _, part := range parts {
		p.Generation = max(p.Generation, part.Generation)
	}
	if len(parts) == 1 {
		return parts
	}
	parts = slices.DeleteFunc(slices.Clone(parts), func(part *Slice) bool { return part.Generation < p.Generation })
	slices.SortFunc(parts, func(a, b *Slice) int { return compareStrings(a.Name, b.Name) })
	return parts
}

func (p *Pool) size(parts []*Slice) int {
	devices := 0
	for _, part := range parts {
		devices += len(part.Devices)
	}
	return devices
}

func (p *Pool) add(part *Slice) {
	p.Slices++
	if p.Slices == 1 {
		p.Want = part.PoolSlices
	} else if p.Want != part.PoolSlices && p.Problem == "" {
		p.Problem = fmt.Sprintf("slices disagree on resourceSliceCount: %d and %d", p.Want, part.PoolSlices)
	}
	for _, set := range part.Counters {
		twice := slices.ContainsFunc(p.Counters, func(have resourcev1.CounterSet) bool { return have.Name == set.Name })
		if twice && p.Problem == "" {
			p.Problem = fmt.Sprintf("counter set %s is published twice", set.Name)
		}
		p.Counters = append(p.Counters, set)
	}
}

// sort prepares Index.
func (p *Pool) sort() {
	for n := 1; n < len(p.Devices) && p.byName == nil; n++ {
		if p.Devices[n-1].Name >= p.Devices[n].Name {
			p.byName = make([]int32, len(p.Devices))
		}
	}
	if p.byName == nil {
		return
	}
	for i := range p.byName {
		p.byName[i] = int32(i)
	}
	slices.SortFunc(p.byName, func(a, b int32) int { return strings.Compare(p.Devices[a].Name, p.Devices[b].Name) })
	for n := 1; n < len(p.byName) && p.Problem == ""; n++ {
		if p.nameOf(n) == p.nameOf(n-1) {
			p.Problem = fmt.Sprintf("device %s is published twice", p.nameOf(n))
		}
	}
}

// group divides the devices into sets with equal scopes. A slice without devices has a set, too, so
// that the nodes that could use it see the incomplete pool.
func (p *Pool) group(parts []*Slice) {
	known := map[scopeKey]int{}
	for i := range p.Devices {
		at := p.reachOf(p.Devices[i].Scope, known)
		p.reaches[at].devices.Set(i)
		if at > 0 && p.scopes == nil {
			p.scopes = make([]int32, len(p.Devices))
		}
		if p.scopes != nil {
			p.scopes[i] = int32(at)
		}
	}
	for _, part := range parts {
		if scope := part.Usage.Scope; scope != (Scope{}) {
			p.reachOf(scope, known)
		}
	}
}

func (p *Pool) reachOf(scope Scope, known map[scopeKey]int) int {
	if last := len(p.reaches) - 1; last >= 0 && p.reaches[last].scope == scope {
		return last // most devices have the scope of the previous one
	}
	key := scope.key()
	at, ok := known[key]
	if ok {
		return at
	}
	at = len(p.reaches)
	known[key] = at
	r := reach{scope: scope, devices: NewBits(len(p.Devices))}
	if scope.Selector != nil {
		r.selector = nodeaffinity.NewLazyErrorNodeSelector(scope.Selector)
	}
	p.reaches = append(p.reaches, r)
	return at
}

// ScopeOf returns a number that is equal for devices of the pool that can be used from the same
// nodes.
func (p *Pool) ScopeOf(i int) int {
	if p.scopes == nil {
		return 0
	}
	return int(p.scopes[i])
}

// scopeKey is equal for equal scopes.
type scopeKey struct {
	all            bool
	node, selector string
}

func (s *Scope) key() scopeKey {
	key := scopeKey{all: s.All, node: s.Node}
	if s.Selector != nil {
		key.selector = s.Selector.String()
	}
	return key
}

// usableFrom returns the devices that can be used from the node, or nil. The set must not be changed.
func (p *Pool) usableFrom(node *NodeInfo) Bits {
	var devices Bits
	for i := range p.reaches {
		switch r := &p.reaches[i]; {
		case !r.includes(node):
		case devices == nil:
			devices = r.devices
		default:
			devices = slices.Clone(devices)
			devices.Or(r.devices)
		}
	}
	return devices
}

func (r *reach) includes(node *NodeInfo) bool {
	switch {
	case r.scope.All:
		return true
	case r.selector != nil:
		matches, err := r.selector.Match(node.API())
		return err == nil && matches
	}
	return r.scope.Node == node.Name
}
