package alloc

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/allot-dev/allot/internal/model"
)

// deviceKind is a set of devices of one pool that are interchangeable for the Problem: they have
// the same scope, match the same selections and have the same values of the attributes that are
// compared. It does not depend on which devices are in use.
type deviceKind struct {
	size                 int
	scope                int
	matches              model.Bits   // selections, followed by otherSelections
	values               [][]string   // by attribute
	trait                int          // see traits
	hasBindingConditions bool         // the devices need preparation before pods can use them
	usage                counterUsage // amounts that one device takes from counters; empty for admin access
}

// deviceKinds holds the kinds of one version of a pool. Computing it takes time proportional to the
// size of the pool, so that it is cached for Problems with the same kindsKey.
type deviceKinds struct {
	devices model.Bits // devices that match a selection
	kinds   []deviceKind
	kindOf  []int32 // index into kinds, by device
}

// maxKindTables limits the cached deviceKinds of a pool. When it is reached, all are dropped.
const maxKindTables = 100

// kindsOf returns the kinds of the devices that can be allocated with admin access, or without it.
// The reason is set if a selector or an expression fails.
func (p *Problem) kindsOf(matches *poolMatches, admin bool) (*deviceKinds, *Reason) {
	parts := &matches.kinds
	if admin {
		parts = &matches.adminKinds
	}
	key := p.kindsKey(p.mixesAdminAccess())
	if made, ok := (*parts)[key]; ok {
		return made, nil
	}
	d, reason := p.buildKinds(matches, admin)
	if reason != nil {
		return nil, reason
	}
	if p.allocator.matcher.costs.exhausted {
		return &d.deviceKinds, nil // selectors of other Problems are not evaluated for all devices
	}
	if *parts == nil || len(*parts) >= maxKindTables {
		*parts = map[string]*deviceKinds{}
	}
	(*parts)[key] = &d.deviceKinds
	return &d.deviceKinds, nil
}

// kindBuilder divides the devices of one pool into kinds.
type kindBuilder struct {
	deviceKinds
	matches      *poolMatches
	sets         []model.Bits
	values       []*valueSets
	onePerDevice bool // each device gets its own kind
	admin        bool

	index map[string]int32 // index into kinds, by the encoded properties of the devices
	key   []byte
}

func (p *Problem) buildKinds(matches *poolMatches, admin bool) (*kindBuilder, *Reason) {
	d := &kindBuilder{matches: matches, onePerDevice: p.mixesAdminAccess(), admin: admin, index: map[string]int32{}}
	d.kindOf, d.devices = make([]int32, len(matches.pool.Devices)), model.NewBits(len(matches.pool.Devices))
	for i, selection := range p.selections {
		match := p.allocator.matcher.matchSelection(matches, selection)
		if match.match.failed {
			return nil, p.selectorError(i, matches.pool, match.match)
		}
		d.sets = append(d.sets, match.free)
		if selection.admin == admin {
			d.devices.Or(match.free)
		}
	}
	for _, selection := range p.otherSelections {
		// A failure here is reported by the Problem that the selection belongs to.
		d.sets = append(d.sets, p.allocator.matcher.matchSelection(matches, selection).free)
	}
	for i := range p.attributes {
		values := p.allocator.matcher.valuesOf(matches, &p.attributes[i])
		d.values = append(d.values, values)
		if !values.failed {
			continue
		}
		// A failure of an attribute of another Problem is reported by that Problem.
		if reason := p.attributeError(&p.attributes[i], matches.pool, values); len(reason.Requests) > 0 {
			return nil, reason
		}
	}
	d.devices.Each(func(device int) bool {
		d.kindOf[device] = d.assignKind(device)
		d.kinds[d.kindOf[device]].size++
		return true
	})
	return d, nil
}

func (b *kindBuilder) assignKind(device int) int32 {
	next := deviceKind{scope: b.matches.pool.ScopeOf(device)}
	next.trait, next.hasBindingConditions = b.matches.traits.traitOf(device)
	if b.matches.counters != nil && !b.admin {
		next.usage = b.matches.counters.usages[device]
	}
	b.key = b.key[:0]
	for _, number := range []int{next.scope, next.trait, next.usage.id} {
		b.key = binary.AppendUvarint(b.key, uint64(number))
	}
	for _, values := range b.values {
		b.key = binary.AppendUvarint(b.key, uint64(values.setOf[device]))
	}
	for _, set := range b.sets {
		b.key = strconv.AppendBool(b.key, set.Has(device))
	}
	if b.onePerDevice || b.matches.multiAllocatable != nil && b.matches.multiAllocatable.Has(device) {
		b.key = fmt.Appendf(b.key, "alone %d", device)
	}
	if at, ok := b.index[string(b.key)]; ok {
		return at
	}
	next.matches = model.NewBits(len(b.sets))
	for i, set := range b.sets {
		if set.Has(device) {
			next.matches.Set(i)
		}
	}
	for _, values := range b.values {
		next.values = append(next.values, values.sets[values.setOf[device]])
	}
	b.kinds = append(b.kinds, next)
	b.index[string(b.key)] = int32(len(b.kinds) - 1)
	return int32(len(b.kinds) - 1)
}
