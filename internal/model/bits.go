package model

import "math/bits"

// Bits is a set of small numbers, such as the indices of a pool's devices. Only sets of the same
// size can be combined.
type Bits []uint64

// NewBits returns an empty set of numbers below size.
func NewBits(size int) Bits { return make(Bits, (size+63)/64) }

// FullBits returns the set of all numbers below size.
func FullBits(size int) Bits {
	b := NewBits(size)
	for i := range size {
		b.Set(i)
	}
	return b
}

// Set adds i.
func (b Bits) Set(i int) { b[i/64] |= 1 << (i % 64) }

// Clear removes i.
func (b Bits) Clear(i int) { b[i/64] &^= 1 << (i % 64) }

// Has reports whether i is in the set.
func (b Bits) Has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// Len returns the number of elements.
func (b Bits) Len() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// And returns the intersection as a new set.
func (b Bits) And(other Bits) Bits {
	r := make(Bits, len(b))
	for i := range b {
		r[i] = b[i] & other[i]
	}
	return r
}

// AndNot returns the elements that are not in other as a new set.
func (b Bits) AndNot(other Bits) Bits {
	r := make(Bits, len(b))
	for i := range b {
		r[i] = b[i] &^ other[i]
	}
	return r
}

// Or adds the elements of other.
func (b Bits) Or(other Bits) {
	for i := range b {
		b[i] |= other[i]
	}
}

// Each calls f with every element in increasing order, until f returns false.
func (b Bits) Each(f func(int) bool) {
	for w, word := range b {
		for word != 0 {
			i := bits.TrailingZeros64(word)
			if !f(w*64 + i) {
				return
			}
			word &= word - 1
		}
	}
}
