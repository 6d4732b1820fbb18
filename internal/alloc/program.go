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

// program is a compiled selector. A device is reduced to the fields that the program reads, so that
// one evaluation serves all devices that are equal in these fields. Fields that are not read cannot
// cause an error.
type program struct {
	compiled cel.CompilationResult
	reads    readSet

	// Cost and number of evaluations since the last attempt that was not postponed.
	cost      int64
	evaluated int
	postponed bool // an evaluation was postponed, and none happened since
}

// evaluationKey identifies a program with the fields of a device that it reads.
type evaluationKey struct {
	program *program
	device  string
}

// evaluation is the result of a selector, or the values of a derived attribute.
type evaluation struct {
	matches bool
	values  []string
	err     error
}

// lastEvaluation is the most recent evaluation. Equal devices are often published consecutively.
type lastEvaluation struct {
	program *program
	device  []byte
	evaluation
}

// maxEvaluations limits the cached evaluations of all selectors. When it is reached, all are
// dropped.
const maxEvaluations = 20_000

// program compiles a selector.
func (m *matcher) program(expression string) *program {
	if known, ok := m.programs[expression]; ok {
		return known
	}
	if len(m.programs) >= maxCompiled {
		clear(m.programs)
		clear(m.evaluations)
	}
	p := &program{compiled: m.compiled.GetOrCompile(expression)}
	if p.compiled.Error == nil {
		p.reads = readsOf(p.compiled.Environment, expression)
	}
	m.programs[expression] = p
	return p
}

// matches reports whether the selector matches a device.
func (m *matcher) matches(p *program, pool *model.Pool, i int) (bool, error) {
	if p.compiled.Error != nil {
		return false, p.compiled.Error
	}
	m.evaluatedKey = p.reads.appendKey(m.evaluatedKey[:0], pool.ID.Driver, &pool.Devices[i])
	if m.last.program != p || !bytes.Equal(m.last.device, m.evaluatedKey) {
		now := m.evaluate(p, pool, i, func(device cel.Device) (evaluation, *celgo.EvalDetails) {
			ok, details, err := p.compiled.DeviceMatches(context.Background(), device)
			return evaluation{matches: ok, err: err}, details
		})
		if errors.Is(now.err, errCostLimit) {
			return false, now.err
		}
		m.last.evaluation = now
		m.last.program, m.last.device = p, append(m.last.device[:0], m.evaluatedKey...)
	}
	return m.last.matches, m.last.err
}

// evaluate returns the cached evaluation, or evaluates the expression unless that would exceed the
// cost limit.
func (m *matcher) evaluate(
	p *program, pool *model.Pool, i int, evaluate func(cel.Device) (evaluation, *celgo.EvalDetails),
) evaluation {
	if known, ok := m.evaluations[evaluationKey{p, string(m.evaluatedKey)}]; ok {
		return known
	}
	if err := m.costs.admit(p); err != nil {
		return evaluation{err: err}
	}
	if len(m.evaluations) >= maxEvaluations {
		clear(m.evaluations)
	}
	o, details := evaluate(p.reads.restrict(celDevice(pool, i)))
	m.costs.charge(p, details)
	m.evaluations[evaluationKey{p, string(m.evaluatedKey)}] = o
	return o
}

// appendKey appends an encoding of the fields that are read. Equal encodings mean equal devices.
func (r *readSet) appendKey(b []byte, driver string, device *model.Device) []byte {
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
		for _, name := range r.attributes[i].namesFor(driver) {
			b = appendAttribute(b, name, device.Attributes)
		}
	}
	b = append(b, ';')
	for i := range r.capacity {
		for _, name := range r.capacity[i].namesFor(driver) {
			b = appendCapacity(b, name, device.Capacity)
		}
	}
	return b
}

// restrict returns the device with only the fields that are read.
func (r *readSet) restrict(device cel.Device) cel.Device {
	if r.all {
		return device
	}
	device.Attributes = restrictTo(device.Attributes, device.Driver, r.attributes)
	device.Capacity = restrictTo(device.Capacity, device.Driver, r.capacity)
	return device
}

func restrictTo[V any](
	from map[resourcev1.QualifiedName]V, driver string, read []field,
) map[resourcev1.QualifiedName]V {
	kept := map[resourcev1.QualifiedName]V{}
	for i := range read {
		for _, name := range read[i].namesFor(driver) {
			if value, ok := from[name]; ok {
				kept[name] = value
			}
		}
	}
	return kept
}

func appendAttribute(
	b []byte, name resourcev1.QualifiedName, attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute,
) []byte {
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
	return fmt.Appendf(b, "%#v%#v%#v%#v", attribute.IntValues, attribute.BoolValues, attribute.StringValues,
		attribute.VersionValues)
}

func appendCapacity(
	b []byte, name resourcev1.QualifiedName, capacity map[resourcev1.QualifiedName]resourcev1.DeviceCapacity,
) []byte {
	has, ok := capacity[name]
	if !ok {
		return b
	}
	b = strconv.AppendQuote(b, string(name))
	return strconv.AppendQuote(b, has.Value.String())
}

// namesFor returns the names under which devices of the driver can publish the attribute or
// capacity.
func (f *field) namesFor(driver string) []resourcev1.QualifiedName {
	if f.domain == driver {
		return f.qualified[:]
	}
	return f.qualified[:1]
}

func newField(domain, id string) field {
	return field{domain: domain, qualified: [2]resourcev1.QualifiedName{
		resourcev1.QualifiedName(strings.Join([]string{domain, id}, "/")), resourcev1.QualifiedName(id),
	}}
}
