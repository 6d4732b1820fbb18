package alloc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	celgo "github.com/google/cel-go/cel"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/allot-dev/allot/internal/model"
)

// program is a compiled selector. It sees of a device no more than it reads, so that it is evaluated once for all devices that
// are equal in that. An attribute that it does not read cannot make it fail.
type program struct {
	compiled cel.CompilationResult
	reads    reads

	// What evaluations have cost since an attempt that could make all that it needed, and of how many devices.
	cost      int64
	evaluated int
	costly    bool // there was none since an attempt that could not
}

// glance is what a program sees of a device.
type glance struct {
	program *program
	seen    string
}

// outcome is what a selector says of a device, or the values that an expression derives.
type outcome struct {
	matches bool
	values  []string
	err     error
}

// recent is the last glance with its outcome: devices that are alike often follow each other.
type recent struct {
	program *program
	seen    []byte
	outcome
}

// Beyond so many outcomes, for all selectors together, all are forgotten.
const maxOutcomes = 20_000

// program compiles a selector.
func (m *matcher) program(expression string) *program {
	if known, ok := m.programs[expression]; ok {
		return known
	}
	if len(m.programs) >= maxCompiled {
		clear(m.programs)
		clear(m.outcomes)
	}
	p := &program{compiled: m.compiled.GetOrCompile(expression)}
	if p.compiled.Error == nil {
		p.reads = readsOf(p.compiled.Environment, expression)
	}
	m.programs[expression] = p
	return p
}

// matches says whether the selector matches a device, or how it fails.
func (m *matcher) matches(p *program, pool *model.Pool, i int) (bool, error) {
	if p.compiled.Error != nil {
		return false, p.compiled.Error
	}
	m.seen = p.reads.appendSeen(m.seen[:0], pool.ID.Driver, &pool.Devices[i])
	if m.latest.program != p || !bytes.Equal(m.latest.seen, m.seen) {
		now := m.outcome(p, pool, i, func(device cel.Device) (outcome, *celgo.EvalDetails) {
			ok, details, err := p.compiled.DeviceMatches(context.Background(), device)
			return outcome{matches: ok, err: err}, details
		})
		if errors.Is(now.err, errUnfinished) {
			return false, now.err
		}
		m.latest.outcome = now
		m.latest.program, m.latest.seen = p, append(m.latest.seen[:0], m.seen...)
	}
	return m.latest.matches, m.latest.err
}

// outcome finds the outcome for what is seen of a device, or evaluates it, unless that would cost too much.
func (m *matcher) outcome(p *program, pool *model.Pool, i int, evaluate func(cel.Device) (outcome, *celgo.EvalDetails)) outcome {
	if known, ok := m.outcomes[glance{p, string(m.seen)}]; ok {
		return known
	}
	if err := m.costs.admit(p); err != nil {
		return outcome{err: err}
	}
	if len(m.outcomes) >= maxOutcomes {
		clear(m.outcomes)
	}
	o, details := evaluate(p.reads.of(celDevice(pool, i)))
	m.costs.charge(p, details)
	m.outcomes[glance{p, string(m.seen)}] = o
	return o
}

// appendSeen writes down what is read of a device: equal texts are equal devices.
func (r *reads) appendSeen(b []byte, driver string, device *model.Device) []byte {
	b = strconv.AppendBool(append(b, driver...), device.AllowMultipleAllocations)
	if r.all {
		for _, name := range slices.Sorted(maps.Keys(device.Attributes)) {
			b = appendAttribute(b, name, device.Attributes)
		}
		b = append(b, ';')
		for _, name := range slices.Sorted(maps.Keys(device.Capacity)) {
			b = appendCapacity(b, name, device.Capacity)
		}
		return b
	}
	for i := range r.attributes {
		for _, name := range r.attributes[i].names(driver) {
			b = appendAttribute(b, name, device.Attributes)
		}
	}
	b = append(b, ';')
	for i := range r.capacity {
		for _, name := range r.capacity[i].names(driver) {
			b = appendCapacity(b, name, device.Capacity)
		}
	}
	return b
}

// of is the device without what is not read.
func (r *reads) of(device cel.Device) cel.Device {
	if r.all {
		return device
	}
	device.Attributes = only(device.Attributes, device.Driver, r.attributes)
	device.Capacity = only(device.Capacity, device.Driver, r.capacity)
	return device
}

func only[V any](from map[resourcev1.QualifiedName]V, driver string, read []field) map[resourcev1.QualifiedName]V {
	kept := map[resourcev1.QualifiedName]V{}
	for i := range read {
		for _, name := range read[i].names(driver) {
			if value, ok := from[name]; ok {
				kept[name] = value
			}
		}
	}
	return kept
}

func appendAttribute(b []byte, name resourcev1.QualifiedName, attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute) []byte {
	attribute, ok := attributes[name]
	if !ok {
		return b
	}
	b = strconv.AppendQuote(b, string(name))
	switch {
	case attribute.StringValue != nil:
		return strconv.AppendQuote(b, *attribute.StringValue)
	case attribute.IntValue != nil:
		return strconv.AppendInt(b, *attribute.IntValue, 10)
	case attribute.BoolValue != nil:
		return strconv.AppendBool(b, *attribute.BoolValue)
	case attribute.VersionValue != nil:
		return strconv.AppendQuote(append(b, 'v'), *attribute.VersionValue)
	}
	return fmt.Appendf(b, "%#v%#v%#v%#v", attribute.IntValues, attribute.BoolValues, attribute.StringValues, attribute.VersionValues)
}

func appendCapacity(b []byte, name resourcev1.QualifiedName, capacity map[resourcev1.QualifiedName]resourcev1.DeviceCapacity) []byte {
	has, ok := capacity[name]
	if !ok {
		return b
	}
	b = strconv.AppendQuote(b, string(name))
	return strconv.AppendQuote(b, has.Value.String())
}

// names are those under which devices of the driver can have the attribute or capacity.
func (f *field) names(driver string) []resourcev1.QualifiedName {
	if f.domain == driver {
		return f.both[:]
	}
	return f.both[:1]
}

func newField(domain, id string) field {
	return field{domain: domain, both: [2]resourcev1.QualifiedName{
		resourcev1.QualifiedName(strings.Join([]string{domain, id}, "/")), resourcev1.QualifiedName(id),
	}}
}
