package model

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Pool is the device set that the slices of one pool publish. It is never changed: new slices make a new Pool, so
// that its address can stand for the version of the set.
type Pool struct {
	ID         PoolID
	Generation int64 // the newest that was seen
	Slices     int64 // how many slices of that generation are here
	Want       int64 // how many there should be
	Problem    string
	Devices    []Device // by slice name, then as published
	Counters   []resourcev1.CounterSet

	parts   []Scope // of the slices
	reaches []reach
	scopes  []int // index of its reach, by device
	index   map[string]int
}

// reach is the set of a pool's devices that share a scope.
type reach struct {
	scope    Scope
	selector *nodeaffinity.LazyErrorNodeSelector // of scope.Selector
	devices  Bits
}

// Usable says whether the pool may be allocated from, and if not, why: an incomplete pool may not, nor one whose
// slices contradict each other.
func (p *Pool) Usable() (bool, string) {
	if p.Problem != "" {
		return false, fmt.Sprintf("pool %s: %s", p.ID, p.Problem)
	}
	if p.Slices < p.Want {
		return false, fmt.Sprintf("pool %s is incomplete: %d of %d slices of generation %d", p.ID, p.Slices, p.Want, p.Generation)
	}
	return true, ""
}

// IsUsable is Usable without the reason.
func (p *Pool) IsUsable() bool { return p.Problem == "" && p.Slices >= p.Want }

// Index finds a device by name.
func (p *Pool) Index(device string) (int, bool) {
	i, ok := p.index[device]
	return i, ok
}

// DeviceID names the device with this index.
func (p *Pool) DeviceID(i int) DeviceID {
	return DeviceID{Driver: p.ID.Driver, Pool: p.ID.Pool, Device: p.Devices[i].Name}
}

// newPool assembles a pool from its slices, whatever their order and generation.
func newPool(id PoolID, parts []*Slice) *Pool {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b *Slice) int { return compareStrings(a.Name, b.Name) })
	p := &Pool{ID: id}
	devices := 0
	for _, part := range parts {
		p.Generation = max(p.Generation, part.Generation)
		devices += len(part.Devices)
	}
	p.Devices, p.index = make([]Device, 0, devices), make(map[string]int, devices)
	for _, part := range parts {
		if part.Generation == p.Generation {
			p.add(part)
		}
	}
	if p.Slices > p.Want && p.Problem == "" {
		p.Problem = fmt.Sprintf("%d slices, but resourceSliceCount is %d", p.Slices, p.Want)
	}
	p.group()
	return p
}

func (p *Pool) add(part *Slice) {
	p.Slices++
	if p.Slices == 1 {
		p.Want = part.PoolSlices
	} else if p.Want != part.PoolSlices && p.Problem == "" {
		p.Problem = fmt.Sprintf("slices disagree on resourceSliceCount: %d and %d", p.Want, part.PoolSlices)
	}
	for _, device := range part.Devices {
		if _, twice := p.index[device.Name]; twice && p.Problem == "" {
			p.Problem = fmt.Sprintf("device %s is published twice", device.Name)
		}
		p.index[device.Name] = len(p.Devices)
		p.Devices = append(p.Devices, device)
	}
	for _, set := range part.Counters {
		twice := slices.ContainsFunc(p.Counters, func(have resourcev1.CounterSet) bool { return have.Name == set.Name })
		if twice && p.Problem == "" {
			p.Problem = fmt.Sprintf("counter set %s is published twice", set.Name)
		}
		p.Counters = append(p.Counters, set)
	}
	if part.Scope != (Scope{}) {
		p.parts = append(p.parts, part.Scope)
	}
}

// group sorts the devices into sets of one scope. A slice without devices has a set, too: where it can be used from, the
// pool is there, if only to say that it is not complete.
func (p *Pool) group() {
	byScope := map[string]int{}
	p.scopes = make([]int, len(p.Devices))
	for i := range p.Devices {
		at := p.reachOf(p.Devices[i].Scope, byScope)
		p.reaches[at].devices.Set(i)
		p.scopes[i] = at
	}
	for _, scope := range p.parts {
		p.reachOf(scope, byScope)
	}
}

func (p *Pool) reachOf(scope Scope, byScope map[string]int) int {
	id := scope.id()
	at, ok := byScope[id]
	if ok {
		return at
	}
	at = len(p.reaches)
	byScope[id] = at
	r := reach{scope: scope, devices: NewBits(len(p.Devices))}
	if scope.Selector != nil {
		r.selector = nodeaffinity.NewLazyErrorNodeSelector(scope.Selector)
	}
	p.reaches = append(p.reaches, r)
	return at
}

// ScopeOf is a number that two devices of the pool have in common if they can be used from the same nodes.
func (p *Pool) ScopeOf(i int) int { return p.scopes[i] }

func (s Scope) id() string {
	switch {
	case s.All:
		return "*"
	case s.Selector != nil:
		return "?" + s.Selector.String()
	}
	return "=" + s.Node
}

// from is the set of devices that can be used from the node, nil if there are none.
func (p *Pool) from(node *corev1.Node) Bits {
	var devices Bits
	for i := range p.reaches {
		if !p.reaches[i].includes(node) {
			continue
		}
		if devices == nil {
			devices = NewBits(len(p.Devices))
		}
		devices.Or(p.reaches[i].devices)
	}
	return devices
}

func (r *reach) includes(node *corev1.Node) bool {
	switch {
	case r.scope.All:
		return true
	case r.selector != nil:
		matches, err := r.selector.Match(node)
		return err == nil && matches
	}
	return r.scope.Node == node.Name
}
