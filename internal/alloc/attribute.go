package alloc

import (
	"context"
	"errors"
	"strings"

	celgo "github.com/google/cel-go/cel"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/allot-dev/allot/internal/model"
)

// attribute is what a constraint compares: an attribute that devices have, or one that a request derives for those that
// match its selectors. A derived one stands before a device's own of the same name.
type attribute struct {
	name       resourcev1.FullyQualifiedName
	expression string     // CEL; "" for a device's own
	of         *selection // whose devices it is derived for
}

// attributeFor is what the option's devices are compared by, under a name.
func (o *option) attributeFor(name resourcev1.FullyQualifiedName, of *selection) attribute {
	a := attribute{name: name}
	for i := range o.asked.DerivedAttributes {
		if derived := &o.asked.DerivedAttributes[i]; derived.Name == name {
			a.expression, a.of = derived.Expression, of
		}
	}
	return a
}

// key is equal for attributes with the same values.
func (a *attribute) key() string {
	if a.of == nil {
		return string(a.name)
	}
	return "\x00" + a.expression + "\x00" + a.of.filter.key
}

func (p *Problem) addAttribute(a attribute) int {
	for i := range p.attributes {
		if p.attributes[i].key() == a.key() {
			return i
		}
	}
	p.attributes = append(p.attributes, a)
	return len(p.attributes) - 1
}

// valueSets are the values that the devices of a pool have of one attribute, or the failure that stops the allocation.
type valueSets struct {
	of   []int      // by device: index of its set
	sets [][]string // distinct; the first is empty

	failed  bool
	device  int // the first that fails
	message string
	costly  bool // it was not evaluated
}

// valuesOf are the values of an attribute.
func (m *matcher) valuesOf(known *poolMatches, a *attribute) *valueSets {
	key := a.key()
	if values, ok := known.values[key]; ok {
		return values
	}
	if known.values == nil || len(known.values) >= maxSets {
		known.values = map[string]*valueSets{}
	}
	var values *valueSets
	if a.of == nil {
		values = collect(known.pool, func(i int) ([]string, error) {
			return attributeValues(&known.pool.Devices[i], known.pool.ID.Driver, a.name), nil
		})
	} else {
		values = m.derive(known, a)
	}
	if !values.failed || !m.costs.exhausted {
		known.values[key] = values
	}
	return values
}

// derive evaluates on those devices alone that match the selectors, so that these can guard what the expression takes
// for granted.
func (m *matcher) derive(known *poolMatches, a *attribute) *valueSets {
	devices := m.match(known, a.of.filter).devices
	program := m.derivation(a.expression)
	return collect(known.pool, func(i int) ([]string, error) {
		if !devices.Has(i) {
			return nil, nil
		}
		if program.compiled.Error != nil {
			return nil, program.compiled.Error
		}
		m.seen = program.reads.appendSeen(m.seen[:0], known.pool.ID.Driver, &known.pool.Devices[i])
		o := m.outcome(program, known.pool, i, func(device cel.Device) (outcome, *celgo.EvalDetails) {
			value, details, err := program.compiled.EvaluateDerivedAttribute(context.Background(), device)
			if err != nil {
				return outcome{err: err}, details
			}
			return outcome{values: valuesIn(value)}, details
		})
		return o.values, o.err
	})
}

// derivation compiles the expression of a derived attribute, which may read all of a device.
func (m *matcher) derivation(expression string) *program {
	if known, ok := m.derived[expression]; ok {
		return known
	}
	if len(m.derived) >= maxCompiled {
		clear(m.derived)
		clear(m.outcomes)
	}
	p := &program{compiled: m.compiled.GetOrCompileDerivedAttribute(expression), reads: reads{all: true}}
	m.derived[expression] = p
	return p
}

func collect(pool *model.Pool, valuesOf func(device int) ([]string, error)) *valueSets {
	v := &valueSets{of: make([]int, len(pool.Devices)), sets: [][]string{nil}}
	known := map[string]int{"": 0}
	for i := range pool.Devices {
		set, err := valuesOf(i)
		if err != nil {
			v.failed, v.device, v.message, v.costly = true, i, err.Error(), errors.Is(err, errUnfinished)
			return v
		}
		key := strings.Join(set, "\x00")
		at, ok := known[key]
		if !ok {
			at = len(v.sets)
			known[key] = at
			v.sets = append(v.sets, set)
		}
		v.of[i] = at
	}
	return v
}

func celDevice(pool *model.Pool, i int) cel.Device {
	device := &pool.Devices[i]
	return cel.Device{
		Driver:                   pool.ID.Driver,
		AllowMultipleAllocations: &device.AllowMultipleAllocations,
		Attributes:               device.Attributes,
		Capacity:                 device.Capacity,
	}
}

// attributeError names the request that derives the attribute.
func (p *Problem) attributeError(a *attribute, pool *model.Pool, values *valueSets) *Reason {
	r := &Reason{
		Kind: SelectorError, Attribute: string(a.name), Device: pool.DeviceID(values.device), Expression: a.expression, Message: values.message, Costly: values.costly,
	}
	for w := range p.wants {
		for o := range p.wants[w].options {
			option := &p.wants[w].options[o]
			of := p.selections[option.selection]
			if own := option.attributeFor(a.name, of); len(r.Asked) == 0 && own.key() == a.key() {
				r.Asked = []Asked{p.asked(w)}
			}
		}
	}
	return r
}
