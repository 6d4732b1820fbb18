package alloc

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/allot-dev/allot/internal/model"
)

// part is a set of devices of one pool that nothing in the Problem can tell apart, whoever has them now: for the same nodes,
// matching the same selections, with the same values of the attributes that matter.
type part struct {
	size    int
	scope   int
	matches model.Bits // selections, and behind them those of others
	values  [][]string // by attribute
	trait   int        // what an allocation of the devices says beyond their names
	waits   bool       // something has to be done for them first
	need    need       // what each of them takes from counters; nothing with admin access
}

// partition are the parts of one version of a pool. Making it costs as much as the pool is large, so that it is kept for
// further Problems of the same shape.
type partition struct {
	devices model.Bits // those that some selection lets through
	parts   []part
	of      []int32 // by device: its part
}

const maxPartitions = 100 // a pool; beyond, all of the pool are forgotten

// shape is equal for Problems that divide pools alike.
func (p *Problem) shape() string {
	if p.shaped == "" {
		b := make([]byte, 0, 256)
		add := func(text string) { b = append(append(strconv.AppendInt(b, int64(len(text)), 10), ':'), text...) }
		for _, selection := range p.selections {
			add(selection.key)
		}
		add("")
		for _, selection := range p.others {
			add(selection.key)
		}
		add("")
		for i := range p.attributes {
			add(p.attributes[i].key())
		}
		p.shaped = string(strconv.AppendBool(b, p.mixed()))
	}
	return p.shaped
}

// partition divides those devices of a pool that can be had with admin access, or without. It answers what failed.
func (p *Problem) partition(known *poolMatches, admin bool) (*partition, *Reason) {
	parts := &known.parts
	if admin {
		parts = &known.adminParts
	}
	if made, ok := (*parts)[p.shape()]; ok {
		return made, nil
	}
	d, reason := p.divide(known, admin)
	if reason != nil {
		return nil, reason
	}
	if p.allocator.matcher.costs.exhausted {
		return &d.partition, nil // others' selectors are not evaluated for all devices
	}
	if *parts == nil || len(*parts) >= maxPartitions {
		*parts = map[string]*partition{}
	}
	(*parts)[p.shape()] = &d.partition
	return &d.partition, nil
}

// divider sorts the devices of one pool into parts.
type divider struct {
	partition
	known  *poolMatches
	sets   []model.Bits
	values []*valueSets
	single bool // each device is a part of its own
	admin  bool

	index map[string]int32 // parts, by what their devices have in common
	key   []byte
}

func (p *Problem) divide(known *poolMatches, admin bool) (*divider, *Reason) {
	d := &divider{known: known, single: p.mixed(), admin: admin, index: map[string]int32{}}
	d.of, d.devices = make([]int32, len(known.pool.Devices)), model.NewBits(len(known.pool.Devices))
	for i, selection := range p.selections {
		found := p.allocator.matcher.found(known, selection)
		if found.match.failed {
			return nil, p.selectorError(i, known.pool, found.match)
		}
		d.sets = append(d.sets, found.free)
		if selection.admin == admin {
			d.devices.Or(found.free)
		}
	}
	for _, selection := range p.others {
		// What fails here is for those to report who ask for it.
		d.sets = append(d.sets, p.allocator.matcher.found(known, selection).free)
	}
	for i := range p.attributes {
		values := p.allocator.matcher.valuesOf(known, &p.attributes[i])
		d.values = append(d.values, values)
		if !values.failed {
			continue
		}
		// What fails for others is for those to report.
		if reason := p.attributeError(&p.attributes[i], known.pool, values); len(reason.Asked) > 0 {
			return nil, reason
		}
	}
	d.devices.Each(func(device int) bool {
		d.of[device] = d.partOf(device)
		d.parts[d.of[device]].size++
		return true
	})
	return d, nil
}

func (d *divider) partOf(device int) int32 {
	next := part{scope: d.known.pool.ScopeOf(device)}
	next.trait, next.waits = d.known.traits.at(device)
	if d.known.counters != nil && !d.admin {
		next.need = d.known.counters.needs[device]
	}
	d.key = d.key[:0]
	for _, number := range []int{next.scope, next.trait, next.need.id} {
		d.key = binary.AppendUvarint(d.key, uint64(number))
	}
	for _, values := range d.values {
		d.key = binary.AppendUvarint(d.key, uint64(values.of[device]))
	}
	for _, set := range d.sets {
		d.key = strconv.AppendBool(d.key, set.Has(device))
	}
	if d.single || d.known.shared != nil && d.known.shared.Has(device) {
		d.key = fmt.Appendf(d.key, "alone %d", device)
	}
	if at, ok := d.index[string(d.key)]; ok {
		return at
	}
	next.matches = model.NewBits(len(d.sets))
	for i, set := range d.sets {
		if set.Has(device) {
			next.matches.Set(i)
		}
	}
	for _, values := range d.values {
		next.values = append(next.values, values.sets[values.of[device]])
	}
	d.parts = append(d.parts, next)
	d.index[string(d.key)] = int32(len(d.parts) - 1)
	return int32(len(d.parts) - 1)
}
