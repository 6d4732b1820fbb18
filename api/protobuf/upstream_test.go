package protobuf

import (
	"bytes"
	"fmt"
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const seeds = 120

func eachSample(t *testing.T, check func(t *testing.T, c *codec, kind generated, seed int64)) {
	t.Helper()
	for name, c := range walkers() {
		for _, kind := range kinds() {
			t.Run(fmt.Sprintf("%s/%T", name, kind), func(t *testing.T) {
				for seed := range int64(seeds) {
					obj := emptyOf(kind)
					if seed > 0 { // seed 0 is the zero object
						filler(seed).Fill(obj)
					}
					check(t, c, obj, seed)
					if t.Failed() {
						return
					}
				}
			})
		}
	}
}

func TestEncodesAsUpstream(t *testing.T) {
	eachSample(t, func(t *testing.T, c *codec, obj generated, seed int64) {
		want, err := obj.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.marshal(obj)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: marshal = %x, %v\nwant %x", seed, got, err, want)
		}
		if n := c.size(obj); n != len(want) {
			t.Errorf("seed %d: size %d, want %d", seed, n, len(want))
		}
		buf := make([]byte, len(want)+7)
		if n, err := c.marshalTo(obj, buf); err != nil || !bytes.Equal(buf[:n], want) {
			t.Errorf("seed %d: marshalTo = %d, %v, or other bytes", seed, n, err)
		}
		clear(buf)
		if n, err := c.marshalToSizedBuffer(obj, buf); err != nil || !bytes.Equal(buf[len(buf)-n:], want) {
			t.Errorf("seed %d: marshalToSizedBuffer = %d, %v, or other bytes", seed, n, err)
		}
	})
}

func TestDecodesAsUpstream(t *testing.T) {
	eachSample(t, func(t *testing.T, c *codec, obj generated, seed int64) {
		data, err := obj.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		compareDecoders(t, c, obj, data)
		// Decoding merges: if the bytes are repeated, lists are doubled and scalars replaced.
		compareDecoders(t, c, obj, append(bytes.Clone(data), data...))
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
}

// compareDecoders checks that both decoders accept the message and return equal objects.
func compareDecoders(t *testing.T, c *codec, kind generated, data []byte) {
	t.Helper()
	want, got := emptyOf(kind), emptyOf(kind)
	if err := want.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	if err := c.unmarshal(data, got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("decoded otherwise than upstream (-upstream +got):\n%s", cmp.Diff(want, got))
	}
}

func TestTruncatedIsRefusedWhereUpstreamRefuses(t *testing.T) {
	eachSample(t, func(t *testing.T, c *codec, obj generated, seed int64) {
		data, err := obj.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		for n := int(seed % 17); n < len(data); n += 1 + len(data)/20 {
			// The capacity is limited too, so that reading beyond the end panics.
			part := data[:n:n]
			want, got := emptyOf(obj).Unmarshal(part), c.unmarshal(part, emptyOf(obj))
			if (want == nil) != (got == nil) {
				t.Fatalf("seed %d: the first %d of %d bytes give %v, upstream's %v", seed, n, len(data), got, want)
			}
		}
	})
}

func TestCorruptIsErrorOrReadAsUpstream(t *testing.T) {
	eachSample(t, func(t *testing.T, c *codec, obj generated, seed int64) {
		data, err := obj.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewSource(seed))
		for range 8 {
			bad := bytes.Clone(data)
			for range 1 + rnd.Intn(3) {
				bad[rnd.Intn(len(bad))] = byte(rnd.Int())
			}
			checkSafe(t, c, obj, bad)
		}
	})
}

// checkSafe checks that arbitrary bytes are either rejected, or decoded as upstream does and can be
// encoded again. Allot may reject what upstream accepts: wrong wire types inside map entries.
func checkSafe(t *testing.T, c *codec, kind generated, data []byte) {
	t.Helper()
	got := emptyOf(kind)
	if err := c.unmarshal(data, got); err != nil {
		return
	}
	if want := emptyOf(kind); want.Unmarshal(data) == nil && !reflect.DeepEqual(want, got) {
		t.Fatalf("%x is read otherwise than upstream's (-upstream +got):\n%s", data, cmp.Diff(want, got))
	}
	again, err := c.marshal(got)
	if err != nil {
		t.Fatalf("%x is read to what cannot be written: %v", data, err)
	}
	if n := c.size(got); n != len(again) {
		t.Fatalf("size %d, %d bytes written", n, len(again))
	}
}
