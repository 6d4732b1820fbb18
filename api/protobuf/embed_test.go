package protobuf

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// AddedClaim is an upstream struct with two added fields. Upstream's methods are promoted to it: if
// they were called, the added fields would be lost without an error.
type AddedClaim struct {
	corev1.PodResourceClaim `json:",inline"`
	Extra                   *string           `protobuf:"bytes,100,opt,name=extra"`
	Labels                  map[string]string `protobuf:"bytes,7,rep,name=labels"`
}

// claimHolder has extended structs in all kinds of fields, and embeds one itself.
type claimHolder struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,16,opt,name=metadata"`
	AddedClaim
	Claims  []AddedClaim          `protobuf:"bytes,17,rep,name=claims"`
	Claim   *AddedClaim           `protobuf:"bytes,18,opt,name=claim"`
	ByName  map[string]AddedClaim `protobuf:"bytes,19,rep,name=byName"`
	Holders []claimHolder         `protobuf:"bytes,20,rep,name=holders"`
}

func upstreamClaim(name string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: name, ResourceClaimName: ptr.To(name + "-claim")}
}

func extraClaim(name string) AddedClaim {
	return AddedClaim{
		PodResourceClaim: upstreamClaim(name),
		Extra:            ptr.To("extra of " + name),
		Labels:           map[string]string{"b": "2", "a": "1"},
	}
}

func TestAddedFieldsFollowUpstreamsBytes(t *testing.T) {
	upstream := upstreamClaim("gpu")
	want, err := upstream.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Marshal(&AddedClaim{PodResourceClaim: upstream})
	if err != nil || !bytes.Equal(plain, want) {
		t.Errorf("without added fields: %x, %v; upstream's bytes are %x", plain, err, want)
	}
	added := extraClaim("gpu")
	data, err := Marshal(&added)
	if err != nil || !bytes.HasPrefix(data, want) || len(data) == len(want) {
		t.Fatalf("with added fields: %x, %v; want more after %x", data, err, want)
	}
	var stock corev1.PodResourceClaim
	if err := stock.Unmarshal(data); err != nil {
		t.Fatalf("upstream's decoder: %v", err)
	}
	if diff := cmp.Diff(upstream, stock); diff != "" {
		t.Errorf("upstream's decoder reads (-want +got):\n%s", diff)
	}
}

func TestAddedFieldsRoundTripWhereverTheyAre(t *testing.T) {
	want := claimHolder{
		ObjectMeta: metav1.ObjectMeta{Name: "holder", Labels: map[string]string{"x": "y"}},
		AddedClaim: extraClaim("embedded"),
		Claims:     []AddedClaim{extraClaim("one"), {}, extraClaim("two")},
		Claim:      ptr.To(extraClaim("pointer")),
		ByName:     map[string]AddedClaim{"z": extraClaim("z"), "a": {PodResourceClaim: upstreamClaim("a")}},
		Holders:    []claimHolder{{AddedClaim: extraClaim("inner")}},
	}
	data, err := Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	if n := Size(&want); n != len(data) {
		t.Errorf("size %d, %d bytes written", n, len(data))
	}
	var got claimHolder
	if err := Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
}

func TestUnknownFieldsAreSteppedOver(t *testing.T) {
	want := extraClaim("gpu")
	known, err := Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	unknown := [][]byte{
		{0xf8, 0x07, 0x96, 0x01},                         // 127: varint
		{0xfa, 0x07, 0x02, 'h', 'i'},                     // 127: bytes
		{0xf9, 0x07, 1, 2, 3, 4, 5, 6, 7, 8},             // 127: fixed64
		{0xfd, 0x07, 1, 2, 3, 4},                         // 127: fixed32
		{0xfb, 0x07, 0x0b, 0x10, 0x01, 0x0c, 0xfc, 0x07}, // 127: group with a group in it
	}
	data := bytes.Join([][]byte{bytes.Join(unknown, nil), known, bytes.Join(unknown, nil)}, nil)
	var got AddedClaim
	if err := Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPackedNumbersAreRead(t *testing.T) {
	var got corev1.PodSecurityContext
	c := codec{walks: func(t reflect.Type) bool { return t.Name() == "PodSecurityContext" }}
	if err := c.unmarshal([]byte{0x22, 3, 1, 0x96, 1, 0x20, 5}, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1, 150, 5}, got.SupplementalGroups); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodingReplacesScalarsBehindPointers(t *testing.T) {
	first := AddedClaim{Extra: ptr.To("first")}
	held := first.Extra
	data, err := Marshal(&AddedClaim{Extra: ptr.To("second")})
	if err != nil {
		t.Fatal(err)
	}
	if err := Unmarshal(data, &first); err != nil {
		t.Fatal(err)
	}
	if *held != "first" || *first.Extra != "second" {
		t.Errorf("held %q, decoded %q", *held, *first.Extra)
	}
}

func TestDecodedObjectDoesNotKeepInput(t *testing.T) {
	c := walkers()["everything"]
	data, err := Marshal(&AddedClaim{Extra: ptr.To("text")})
	if err != nil {
		t.Fatal(err)
	}
	var got AddedClaim
	secret := &corev1.Secret{Data: map[string][]byte{"k": []byte("value")}}
	secretData, err := secret.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Unmarshal(data, &got), c.unmarshal(secretData, secret)); err != nil {
		t.Fatal(err)
	}
	clear(data)
	clear(secretData)
	if *got.Extra != "text" || string(secret.Data["k"]) != "value" {
		t.Errorf("changed with the input: %q, %q", *got.Extra, secret.Data["k"])
	}
}

func TestMalformedIsRefused(t *testing.T) {
	// Nested messages of field 20, each with a length prefix, built from the innermost outwards.
	deep := make([]byte, 6*maxDepth)
	at := len(deep)
	for range maxDepth + 2 {
		at = putVarint(deep, at, uint64(len(deep)-at))
		at = putVarint(deep, at, key(20, wireBytes))
	}
	cases := map[string][]byte{
		"key cut":              {0xa2},
		"key too long":         bytes.Repeat([]byte{0xff}, 11),
		"number 0":             {0x02, 0x00},
		"length beyond end":    {0xa2, 0x06, 0xff, 0xff, 0xff, 0xff, 0x07},
		"length beyond int":    {0xa2, 0x06, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"text as number":       {0xa0, 0x01, 0x01},
		"group not begun":      {0xfc, 0x07},
		"group not ended":      {0xfb, 0x07, 0x08, 0x01},
		"wire type 7":          {0xff, 0x07},
		"fixed64 cut":          {0xf9, 0x07, 1, 2},
		"map entry cut":        {0x9a, 0x01, 0x02, 0x0a, 0x05},
		"map key not text":     {0x9a, 0x01, 0x02, 0x08, 0x05},
		"map entry no message": {0x98, 0x01, 0x01},
		"messages without end": deep[at:],
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			if err := Unmarshal(data, &claimHolder{}); err == nil {
				t.Errorf("%x is taken", data[:min(len(data), 20)])
			}
		})
	}
}

func TestHugeLengthsAllocateNothing(t *testing.T) {
	data := bytes.Repeat([]byte{0x8a, 0x01, 0xff, 0xff, 0xff, 0xff, 0x07}, 3) // claims of 2 GiB each
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := Unmarshal(data, &claimHolder{})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("err = %v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated for %d", n, len(data))
	}
}

func TestErrorsNameTheField(t *testing.T) {
	err := Unmarshal([]byte{0x8a, 0x01, 0x02, 0xa0, 0x06}, &claimHolder{})
	want := "protobuf: protobuf.claimHolder.Claims[0]: unexpected EOF"
	if err == nil || err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
}
