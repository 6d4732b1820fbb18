package protobuf

import (
	"reflect"
	"slices"
)

// plan is the encoding of one struct type. It is immutable.
type plan struct {
	embeds []embed  // embedded structs in the order of declaration, written before the fields
	fields []*field // ascending by number
}

// embed is an embedded struct whose message is merged into the message of the enclosing struct.
type embed struct {
	index int   // index of the struct's field
	plan  *plan // nil: the type has generated methods
}

// field is a field with its own number.
type field struct {
	name   string
	index  int // index of the struct's field
	number int32
	key    []byte // key in front of each record
	shape  shape
}

func (f *field) writeKey(buf []byte, i int) int {
	i -= len(f.key)
	copy(buf[i:], f.key)
	return i
}

func (f *field) writeElement(e element, buf []byte, i int, v reflect.Value) (int, error) {
	i, err := e.write(buf, i, v)
	if err != nil {
		return 0, err
	}
	return f.writeKey(buf, i), nil
}

func (p *plan) size(s reflect.Value) int {
	n := 0
	for _, e := range p.embeds {
		if e.plan != nil {
			n += e.plan.size(s.Field(e.index))
		} else {
			n += messageOf(s.Field(e.index)).Size()
		}
	}
	for _, f := range p.fields {
		n += f.shape.size(f, s.Field(f.index))
	}
	return n
}

// write writes the message so that it ends before buf[i], and returns its start. Because it goes
// backwards, the length of a nested message is known when it is written.
func (p *plan) write(buf []byte, i int, s reflect.Value) (int, error) {
	for _, f := range slices.Backward(p.fields) {

		var err error
		if i, err = f.shape.write(f, buf, i, s.Field(f.index)); err != nil {
			return 0, within("."+f.name, err)
		}
	}
	for _, e := range slices.Backward(p.embeds) {
		if e.plan != nil {
			start, err := e.plan.write(buf, i, s.Field(e.index))
			if err != nil {
				return 0, err
			}
			i = start
			continue
		}
		n, err := messageOf(s.Field(e.index)).MarshalToSizedBuffer(buf[:i])
		if err != nil {
			return 0, err
		}
		i -= n
	}
	return i, nil
}

// read passes the message to each embedded struct, which skips unknown numbers, and then reads the
// fields of this struct. depth is the number of enclosing messages.
func (p *plan) read(data []byte, s reflect.Value, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	for _, e := range p.embeds {
		var err error
		if e.plan != nil {
			err = e.plan.read(data, s.Field(e.index), depth)
		} else {
			err = messageOf(s.Field(e.index)).Unmarshal(data)
		}
		if err != nil {
			return err
		}
	}
	for at := 0; len(data) > 0; {
		r, rest, err := readRecord(data)
		if err != nil {
			return err
		}
		data, r.depth = rest, depth
		f, next := p.field(r.number, at)
		if f == nil {
			continue
		}
		at = next
		if err := f.shape.read(f, r, s.Field(f.index)); err != nil {
			return within("."+f.name, err)
		}
	}
	return nil
}

// field returns the field with a number, or nil, and its index. The search starts at an index,
// because most messages have their fields in order.
func (p *plan) field(number int32, at int) (*field, int) {
	for ; at < len(p.fields) && p.fields[at].number <= number; at++ {
		if p.fields[at].number == number {
			return p.fields[at], at
		}
	}
	at, ok := slices.BinarySearchFunc(p.fields, number, func(f *field, n int32) int { return int(f.number) - int(n) })
	if !ok {
		return nil, 0
	}
	return p.fields[at], at
}
