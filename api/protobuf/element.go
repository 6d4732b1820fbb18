package protobuf

import (
	"reflect"
)

// element is the codec of one value of a type, without the key before it. Values are addressable.
type element interface {
	wire() wireType
	// size returns the length of the value as written, including its length prefix if wire is
	// wireBytes.
	size(v reflect.Value) int
	// write writes the value so that it ends before buf[i], and returns its start.
	write(buf []byte, i int, v reflect.Value) (int, error)
	// read merges a record of this element's wire type into the value.
	read(r record, v reflect.Value) error
}

type stringElement struct{}

func (stringElement) wire() wireType           { return wireBytes }
func (stringElement) size(v reflect.Value) int { return sizeWithLength(v.Len()) }

func (stringElement) write(buf []byte, i int, v reflect.Value) (int, error) {
	return putString(buf, i, v.String()), nil
}

func (stringElement) read(r record, v reflect.Value) error {
	v.SetString(string(r.bytes))
	return nil
}

// bytesElement distinguishes nil from empty when reading: a written value is never nil.
type bytesElement struct{}

func (bytesElement) wire() wireType           { return wireBytes }
func (bytesElement) size(v reflect.Value) int { return sizeWithLength(v.Len()) }

func (bytesElement) write(buf []byte, i int, v reflect.Value) (int, error) {
	i -= v.Len()
	copy(buf[i:], v.Bytes())
	return putVarint(buf, i, uint64(v.Len())), nil
}

func (bytesElement) read(r record, v reflect.Value) error {
	v.SetBytes(append([]byte{}, r.bytes...))
	return nil
}

type boolElement struct{}

func (boolElement) wire() wireType         { return wireVarint }
func (boolElement) size(reflect.Value) int { return 1 }

func (boolElement) write(buf []byte, i int, v reflect.Value) (int, error) {
	i--
	buf[i] = 0
	if v.Bool() {
		buf[i] = 1
	}
	return i, nil
}

func (boolElement) read(r record, v reflect.Value) error {
	v.SetBool(r.varint != 0)
	return nil
}

// intElement writes a negative number as its 64-bit complement, ten bytes, for any Go type.
type intElement struct{}

func (intElement) wire() wireType           { return wireVarint }
func (intElement) size(v reflect.Value) int { return varintSize(uint64(v.Int())) }

func (intElement) write(buf []byte, i int, v reflect.Value) (int, error) {
	return putVarint(buf, i, uint64(v.Int())), nil
}

func (intElement) read(r record, v reflect.Value) error {
	v.SetInt(int64(r.varint)) // truncates to the Go type, as generated code does
	return nil
}

type uintElement struct{}

func (uintElement) wire() wireType           { return wireVarint }
func (uintElement) size(v reflect.Value) int { return varintSize(v.Uint()) }

func (uintElement) write(buf []byte, i int, v reflect.Value) (int, error) {
	return putVarint(buf, i, v.Uint()), nil
}

func (uintElement) read(r record, v reflect.Value) error {
	v.SetUint(r.varint)
	return nil
}

// messageElement calls the generated methods on a pointer to the value.
type messageElement struct{}

func (messageElement) wire() wireType { return wireBytes }

func (messageElement) size(v reflect.Value) int {
	return sizeWithLength(messageOf(v).Size())
}

func (messageElement) write(buf []byte, i int, v reflect.Value) (int, error) {
	n, err := messageOf(v).MarshalToSizedBuffer(buf[:i])
	if err != nil {
		return 0, err
	}
	return putVarint(buf, i-n, uint64(n)), nil
}

func (messageElement) read(r record, v reflect.Value) error {
	if v.Kind() == reflect.Slice && v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0)) // an empty list message was written, nil is not written
	}
	return messageOf(v).Unmarshal(r.bytes)
}

// structElement walks the value by its plan.
type structElement struct{ plan *plan }

func (structElement) wire() wireType { return wireBytes }

func (e structElement) size(v reflect.Value) int { return sizeWithLength(e.plan.size(v)) }

func (e structElement) write(buf []byte, i int, v reflect.Value) (int, error) {
	start, err := e.plan.write(buf, i, v)
	if err != nil {
		return 0, err
	}
	return putVarint(buf, start, uint64(i-start)), nil
}

func (e structElement) read(r record, v reflect.Value) error {
	return e.plan.read(r.bytes, v, r.depth+1)
}

func messageOf(v reflect.Value) Message { return v.Addr().Interface().(Message) }

// putString writes s with its length prefix so that it ends before buf[i], and returns its start.
func putString(buf []byte, i int, s string) int {
	i -= len(s)
	copy(buf[i:], s)
	return putVarint(buf, i, uint64(len(s)))
}

func sizeWithLength(n int) int { return n + varintSize(uint64(n)) }
