package protobuf

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// shape is the number of elements that a field has: one, at most one, many, or many by name. Unlike
// an element it knows the field's key, because a list writes it many times and nil not at all.
type shape interface {
	wire() wireType
	size(f *field, v reflect.Value) int
	write(f *field, buf []byte, i int, v reflect.Value) (int, error)
	read(f *field, r record, v reflect.Value) error
}

// always is a plain scalar or struct, which is written even if it is zero.
type always struct{ element }

func (a always) size(f *field, v reflect.Value) int { return len(f.key) + a.element.size(v) }

func (a always) write(f *field, buf []byte, i int, v reflect.Value) (int, error) {
	return f.writeElement(a.element, buf, i, v)
}

func (a always) read(f *field, r record, v reflect.Value) error {
	return readElement(a.element, r, v)
}

// unlessNil is a slice that is a single element: bytes, or a list type with generated methods such
// as metav1.Verbs.
type unlessNil struct{ element }

func (u unlessNil) size(f *field, v reflect.Value) int {
	if v.IsNil() {
		return 0
	}
	return len(f.key) + u.element.size(v)
}

func (u unlessNil) write(f *field, buf []byte, i int, v reflect.Value) (int, error) {
	if v.IsNil() {
		return i, nil
	}
	return f.writeElement(u.element, buf, i, v)
}

func (u unlessNil) read(f *field, r record, v reflect.Value) error {
	return readElement(u.element, r, v)
}

// pointer is written if it is set.
type pointer struct{ element }

func (p pointer) size(f *field, v reflect.Value) int {
	if v.IsNil() {
		return 0
	}
	return len(f.key) + p.element.size(v.Elem())
}

func (p pointer) write(f *field, buf []byte, i int, v reflect.Value) (int, error) {
	if v.IsNil() {
		return i, nil
	}
	return f.writeElement(p.element, buf, i, v.Elem())
}

func (p pointer) read(f *field, r record, v reflect.Value) error {
	// A scalar gets new memory each time: the caller may hold the replaced pointer.
	if v.IsNil() || !merges(p.element) {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return readElement(p.element, r, v.Elem())
}

// merges reports whether reading an element twice into one value differs from reading it only the
// second time.
func merges(e element) bool {
	switch e.(type) {
	case messageElement, structElement:
		return true
	}
	return false
}

// list is a slice with one record per item.
type list struct{ element }

func (l list) size(f *field, v reflect.Value) int {
	n := v.Len() * len(f.key)
	for i := range v.Len() {
		n += l.element.size(v.Index(i))
	}
	return n
}

func (l list) write(f *field, buf []byte, i int, v reflect.Value) (int, error) {
	for at := v.Len() - 1; at >= 0; at-- {
		var err error
		if i, err = f.writeElement(l.element, buf, i, v.Index(at)); err != nil {
			return 0, within("["+strconv.Itoa(at)+"]", err)
		}
	}
	return i, nil
}

// read also accepts packed numbers: decoders must, although upstream's encoder does not write them.
func (l list) read(f *field, r record, v reflect.Value) error {
	if r.wire != wireBytes || l.element.wire() != wireVarint {
		return l.readItem(r, v)
	}
	for rest := r.bytes; len(rest) > 0; {
		item := record{number: r.number, wire: wireVarint}
		var err error
		if item.varint, rest, err = readVarint(rest); err != nil {
			return err
		}
		if err := l.readItem(item, v); err != nil {
			return err
		}
	}
	return nil
}

func (l list) readItem(r record, v reflect.Value) error {
	at := v.Len()
	v.Grow(1)
	v.SetLen(at + 1)
	item := v.Index(at)
	item.SetZero() // memory beyond the length may have been used before
	if err := readElement(l.element, r, item); err != nil {
		return within("["+strconv.Itoa(at)+"]", err)
	}
	return nil
}

// mapping is a map with string keys. An entry is a message of key (1) and value (2); entries are
// sorted by key.
type mapping struct{ element }

func (mapping) wire() wireType { return wireBytes }

const entryKeySize = 1 // of the keys of both fields

// entrySize returns the length of an entry. A nil slice as value is omitted.
func (m mapping) entrySize(k string, v reflect.Value) int {
	n := entryKeySize + sizeWithLength(len(k))
	if v.Kind() == reflect.Slice && v.IsNil() {
		return n
	}
	return n + entryKeySize + m.element.size(v)
}

func (m mapping) size(f *field, v reflect.Value) int {
	if v.Len() == 0 {
		return 0
	}
	n, value := 0, reflect.New(v.Type().Elem()).Elem()
	for entry := v.MapRange(); entry.Next(); {
		value.SetIterValue(entry)
		n += len(f.key) + sizeWithLength(m.entrySize(entry.Key().String(), value))
	}
	return n
}

func (m mapping) write(f *field, buf []byte, i int, v reflect.Value) (int, error) {
	if v.Len() == 0 {
		return i, nil
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	value := reflect.New(v.Type().Elem()).Elem()
	for _, k := range slices.Backward(keys) {
		value.Set(v.MapIndex(k))
		start, err := m.writeEntry(buf, i, k.String(), value)
		if err != nil {
			return 0, within("["+strconv.Quote(k.String())+"]", err)
		}
		i = f.writeKey(buf, putVarint(buf, start, uint64(i-start)))
	}
	return i, nil
}

func (m mapping) writeEntry(buf []byte, i int, k string, v reflect.Value) (int, error) {
	if v.Kind() != reflect.Slice || !v.IsNil() {
		var err error
		if i, err = m.element.write(buf, i, v); err != nil {
			return 0, err
		}
		i = putVarint(buf, i, key(2, m.element.wire()))
	}
	return putVarint(buf, putString(buf, i, k), key(1, wireBytes)), nil
}

func (m mapping) read(f *field, r record, v reflect.Value) error {
	if r.wire != wireBytes {
		return wrongWire(r, wireBytes)
	}
	k, value := "", reflect.New(v.Type().Elem()).Elem()
	if _, ok := m.element.(bytesElement); ok {
		value.SetBytes([]byte{}) // of an entry without a value
	}
	for rest := r.bytes; len(rest) > 0; {
		var part record
		var err error
		if part, rest, err = readRecord(rest); err != nil {
			return err
		}
		part.depth = r.depth
		switch {
		case part.number == 1 && part.wire != wireBytes:
			return wrongWire(part, wireBytes)
		case part.number == 1:
			k = string(part.bytes)
		case part.number == 2:
			if err := readElement(m.element, part, value); err != nil {
				return within("["+strconv.Quote(k)+"]", err)
			}
		}
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	v.SetMapIndex(reflect.ValueOf(k).Convert(v.Type().Key()), value)
	return nil
}

func readElement(e element, r record, v reflect.Value) error {
	if r.wire != e.wire() {
		return wrongWire(r, e.wire())
	}
	return e.read(r, v)
}

func wrongWire(r record, want wireType) error {
	return fmt.Errorf("wire type %d of field %d, want %d", r.wire, r.number, want)
}
