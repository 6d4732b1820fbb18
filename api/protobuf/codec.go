package protobuf

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
)

// Message has the methods of upstream's generated code that this package calls.
type Message interface {
	Size() int
	MarshalToSizedBuffer(data []byte) (int, error)
	Unmarshal(data []byte) error
}

// Marshal returns the encoding of v, a non-nil pointer to a struct.
func Marshal(v any) ([]byte, error) { return std.marshal(v) }

// Size returns the number of bytes that Marshal(v) returns; 0 for a nil pointer. It panics if the
// type of v cannot be encoded; see Check.
func Size(v any) int { return std.size(v) }

// MarshalTo writes the encoding of v to the start of data and returns its length, or
// io.ErrShortBuffer.
func MarshalTo(v any, data []byte) (int, error) { return std.marshalTo(v, data) }

// MarshalToSizedBuffer writes the encoding of v backwards from the end of data, and returns its
// length. Like generated code it panics if data is shorter than Size(v).
func MarshalToSizedBuffer(v any, data []byte) (int, error) { return std.marshalToSizedBuffer(v, data) }

// Unmarshal merges the message in data into v, a non-nil pointer to a struct: scalars and pointers
// to scalars are replaced, messages merged, lists appended to, map entries set. Unknown fields are
// dropped. v does not retain data.
func Unmarshal(data []byte, v any) error { return std.unmarshal(data, v) }

// Check returns the reason why the type of v, a pointer to a struct, cannot be encoded, or nil.
func Check(v any) error {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("protobuf: %T is not a pointer to a struct", v)
	}
	_, err := std.plan(t.Elem())
	return err
}

// std is the codec of the package's functions. Its only state is a cache of plans.
var std = codec{walks: underAPI}

// apiRoot is the import path below which types are walked: that of this package's parent.
var apiRoot = strings.TrimSuffix(reflect.TypeFor[plan]().PkgPath(), "protobuf")

// underAPI reports whether a type belongs to this repository. Its methods, if any, are either
// one-line calls of this package or promoted from an embedded upstream type, and a promoted method
// would drop the fields that are added to the embedded ones.
func underAPI(t reflect.Type) bool { return strings.HasPrefix(t.PkgPath(), apiRoot) }

// codec has a rule for the types to walk, and the plans made by that rule.
type codec struct {
	walks func(reflect.Type) bool
	plans sync.Map // reflect.Type of a struct -> *plan, never changed once stored
}

func (c *codec) plan(t reflect.Type) (*plan, error) {
	if p, ok := c.plans.Load(t); ok {
		return p.(*plan), nil
	}
	p, err := (&planner{walks: c.walks, plans: map[reflect.Type]*plan{}}).plan(t)
	if err != nil {
		return nil, err
	}
	stored, _ := c.plans.LoadOrStore(t, p)
	return stored.(*plan), nil
}

// resolve returns the struct to which v points, and its plan.
func (c *codec) resolve(v any) (reflect.Value, *plan, error) {
	ptr := reflect.ValueOf(v)
	if ptr.Kind() != reflect.Pointer || ptr.Type().Elem().Kind() != reflect.Struct {
		return reflect.Value{}, nil, fmt.Errorf("protobuf: %T is not a pointer to a struct", v)
	}
	if ptr.IsNil() {
		return reflect.Value{}, nil, fmt.Errorf("protobuf: %T is nil", v)
	}
	p, err := c.plan(ptr.Type().Elem())
	return ptr.Elem(), p, err
}

func (c *codec) size(v any) int {
	if ptr := reflect.ValueOf(v); ptr.Kind() == reflect.Pointer && ptr.IsNil() {
		return 0
	}
	s, p, err := c.resolve(v)
	if err != nil {
		panic(err)
	}
	return p.size(s)
}

func (c *codec) marshal(v any) ([]byte, error) {
	s, p, err := c.resolve(v)
	if err != nil {
		return nil, err
	}
	data := make([]byte, p.size(s))
	i, err := p.write(data, len(data), s)
	if err != nil {
		return nil, within(s.Type().String(), err)
	}
	return data[i:], nil
}

func (c *codec) marshalTo(v any, data []byte) (int, error) {
	s, p, err := c.resolve(v)
	if err != nil {
		return 0, err
	}
	n := p.size(s)
	if n > len(data) {
		return 0, fmt.Errorf("protobuf: %s of %d bytes into %d: %w", s.Type(), n, len(data), io.ErrShortBuffer)
	}
	i, err := p.write(data, n, s)
	if err != nil {
		return 0, within(s.Type().String(), err)
	}
	return n - i, nil
}

func (c *codec) marshalToSizedBuffer(v any, data []byte) (int, error) {
	s, p, err := c.resolve(v)
	if err != nil {
		return 0, err
	}
	i, err := p.write(data, len(data), s)
	if err != nil {
		return 0, within(s.Type().String(), err)
	}
	return len(data) - i, nil
}

func (c *codec) unmarshal(data []byte, v any) error {
	s, p, err := c.resolve(v)
	if err != nil {
		return err
	}
	if err := p.read(data, s, 0); err != nil {
		return within(s.Type().String(), err)
	}
	return nil
}
