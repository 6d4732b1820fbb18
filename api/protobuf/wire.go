package protobuf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// wireType is the encoding of a field's bytes.
// https://protobuf.dev/programming-guides/encoding/#structure
type wireType uint8

const (
	wireVarint     wireType = 0
	wireFixed64    wireType = 1
	wireBytes      wireType = 2
	wireGroupStart wireType = 3
	wireGroupEnd   wireType = 4
	wireFixed32    wireType = 5
)

var (
	errOverflow = errors.New("varint of more than 64 bits")
	errGroup    = errors.New("end of a group without a start")
	errDepth    = fmt.Errorf("more than %d nested messages", maxDepth)
)

// maxDepth limits the stack that a recursive type can use. JSON decoders have the same limit, so
// that objects received as JSON can be read back.
const maxDepth = 10000

// key returns the varint before a field.
func key(number int32, wire wireType) uint64 { return uint64(number)<<3 | uint64(wire) }

func varintSize(x uint64) int { return (bits.Len64(x|1) + 6) / 7 }

// putVarint writes x so that it ends before buf[i], and returns its start.
func putVarint(buf []byte, i int, x uint64) int {
	i -= varintSize(x)
	for at := i; ; at++ {
		if x < 0x80 {
			buf[at] = byte(x)
			return i
		}
		buf[at] = byte(x) | 0x80
		x >>= 7
	}
}

func readVarint(data []byte) (x uint64, rest []byte, err error) {
	for i, b := range data {
		if i == binary.MaxVarintLen64 {
			return 0, nil, errOverflow
		}
		x |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return x, data[i+1:], nil
		}
	}
	if len(data) >= binary.MaxVarintLen64 {
		return 0, nil, errOverflow
	}
	return 0, nil, io.ErrUnexpectedEOF
}

// record is one field of a message.
type record struct {
	number int32
	wire   wireType
	varint uint64 // value of wireVarint
	bytes  []byte // value of wireBytes, a part of the message
	depth  int    // depth of the enclosing message
}

// readRecord reads the first record of a message that is not empty.
func readRecord(data []byte) (record, []byte, error) {
	r, rest, err := readKey(data)
	if err != nil {
		return r, nil, err
	}
	switch r.wire {
	case wireVarint:
		r.varint, rest, err = readVarint(rest)
	case wireBytes:
		r.bytes, rest, err = readBytes(rest)
	default:
		rest, err = skip(r, rest)
	}
	return r, rest, err
}

func readKey(data []byte) (record, []byte, error) {
	k, rest, err := readVarint(data)
	if err != nil {
		return record{}, nil, err
	}
	r := record{number: int32(k >> 3), wire: wireType(k & 7)}
	if r.number <= 0 {
		return r, nil, fmt.Errorf("illegal field number %d", r.number)
	}
	return r, rest, nil
}

func readBytes(data []byte) (bytes, rest []byte, err error) {
	n, rest, err := readVarint(data)
	if err != nil {
		return nil, nil, err
	}
	if n > math.MaxInt || int(n) > len(rest) {
		return nil, nil, io.ErrUnexpectedEOF
	}
	return rest[:n], rest[n:], nil
}

// skip skips the rest of a record that no API type uses: a fixed number or a group. Groups are
// deprecated since proto2, and decoders must still skip them.
func skip(r record, rest []byte) ([]byte, error) {
	for depth := 0; ; {
		var err error
		switch r.wire {
		case wireVarint:
			_, rest, err = readVarint(rest)
		case wireBytes:
			_, rest, err = readBytes(rest)
		case wireFixed64:
			rest, err = skipFixed(rest, 8)
		case wireFixed32:
			rest, err = skipFixed(rest, 4)
		case wireGroupStart:
			depth++
		case wireGroupEnd:
			depth--
		default:
			err = fmt.Errorf("illegal wire type %d", r.wire)
		}
		if depth < 0 {
			err = errGroup
		}
		if err != nil || depth == 0 {
			return rest, err
		}
		if r, rest, err = readKey(rest); err != nil {
			return nil, err
		}
	}
}

func skipFixed(data []byte, n int) ([]byte, error) {
	if len(data) < n {
		return nil, io.ErrUnexpectedEOF
	}
	return data[n:], nil
}
