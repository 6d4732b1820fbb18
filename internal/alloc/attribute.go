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

// attribute is the value that a constraint compares: a device attribute, or an attribute that a
// request derives for the devices matching its selectors. A derived attribute hides a device
// attribute of the same name.
type attribute struct {
	name       resourcev1.FullyQualifiedName
	expression string     // CEL; "" for a device attribute
	selection  *selection // devices for which the attribute is derived; nil for a device attribute
}

// attributeFor returns the attribute with this name as seen by devices of the alternative.
func (alt *alternative) attributeFor(name resourcev1.FullyQualifiedName, sel *selection) attribute {
	a := attribute{name: name}
	for i := range alt.spec.DerivedAttributes {
		if derived := &alt.spec.DerivedAttributes[i]; derived.Name == name {
			a.expression, a.selection = derived.Expression, sel
		}
	}
	return a
}

// key returns a string that is equal for attributes with the same values.
func (a *attribute) key() string {
	if a.selection == nil {
		return string(a.name)
	}
	return "\x00" + a.expression + "\x00" + a.selection.filter.key
}

// valueSets holds the values of one attribute for all devices of a pool, or the error that stops
// the allocation.
type valueSets struct {
	setOf []int      // index into sets, by device
	sets  [][]string // distinct sets; the first is empty

	failed      bool
	device      int // first device with an error
	message     string
	costLimited bool // the evaluation was skipped because of its cost
}

// valuesOf returns the values of an attribute for all devices of a pool.
func (m *matcher) valuesOf(matches *poolMatches, a *attribute) *valueSets {
	key := a.key()
	if values, ok := matches.values[key]; ok {
		return values
	}
	if matches.values == nil || len(matches.values) >= maxSets {
		matches.values = map[string]*valueSets{}
	}
	var values *valueSets
	if a.selection == nil {
		values = collect(matches.pool, func(i int) ([]string, error) {
			return attributeValues(&matches.pool.Devices[i], matches.pool.ID.Driver, a.name), nil
		})
	} else {
		values = m.derive(matches, a)
	}
	if !values.failed || !m.costs.exhausted {
		matches.values[key] = values
	}
	return values
}

// derive evaluates the expression only on devices that match the selectors, so that selectors can
// guard what the expression requires.
func (m *matcher) derive(matches *poolMatches, a *attribute) *valueSets {
	devices := m.match(matches, a.selection.filter).devices
	program := m.derivation(a.expression)
	return collect(matches.pool, func(i int) ([]string, error) {
		if !devices.Has(i) {
			return nil, nil
		}
		if program.compiled.Error != nil {
			return nil, program.compiled.Error
		}
		m.evaluatedKey = program.reads.appendKey(m.evaluatedKey[:0], matches.pool.ID.Driver, &matches.pool.Devices[i])
		o := m.evaluate(program, matches.pool, i, func(device cel.Device) (evaluation, *celgo.EvalDetails) {
			value, details, err := program.compiled.EvaluateDerivedAttribute(context.Background(), device)
			if err != nil {
				return evaluation{err: err}, details
			}
			return evaluation{values: valuesIn(value)}, details
		})
		return o.values, o.err
	})
}

// derivation compiles the expression of a derived attribute. The expression may read all of a
// device.
func (m *matcher) derivation(expression string) *program {
	if known, ok := m.derivations[expression]; ok {
		return known
	}
	if len(m.derivations) >= maxCompiled {
		clear(m.derivations)
		clear(m.evaluations)
	}
	p := &program{compiled: m.compiled.GetOrCompileDerivedAttribute(expression), reads: readSet{all: true}}
	m.derivations[expression] = p
	return p
}

func collect(pool *model.Pool, valuesOf func(device int) ([]string, error)) *valueSets {
	v := &valueSets{setOf: make([]int, len(pool.Devices)), sets: [][]string{nil}}
	known := map[string]int{"": 0}
	for i := range pool.Devices {
		set, err := valuesOf(i)
		if err != nil {
			v.failed, v.device, v.message, v.costLimited = true, i, err.Error(), errors.Is(err, errCostLimit)
			return v
		}
		key := strings.Join(set, "\x00")
		at, ok := known[key]
		if !ok {
			at = len(v.sets)
			known[key] = at
			v.sets = append(v.sets, set)
		}
		v.setOf[i] = at
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

// attributeError returns the reason for an expression that failed, with the request that derives
// the attribute.
func (p *Problem) attributeError(a *attribute, pool *model.Pool, values *valueSets) *Reason {
	r := &Reason{
		Kind: SelectorError, Attribute: string(a.name), Device: pool.DeviceID(values.device), Expression: a.expression,
		Message: values.message, CostLimited: values.costLimited,
	}
	for w := range p.requests {
		for o := range p.requests[w].alternatives {
			alternative := &p.requests[w].alternatives[o]
			of := p.selections[alternative.selection]
			if own := alternative.attributeFor(a.name, of); len(r.Requests) == 0 && own.key() == a.key() {
				r.Requests = []RequestRef{p.requestRef(w)}
			}
		}
	}
	return r
}
