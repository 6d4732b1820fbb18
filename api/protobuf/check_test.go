package protobuf

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestCheckNamesWhatCannotBeEncoded(t *testing.T) {
	type noNumber struct {
		A string `protobuf:"bytes"`
	}
	type badNumber struct {
		A string `protobuf:"bytes,0,opt,name=a"`
	}
	type float struct {
		A float64 `protobuf:"fixed64,1,opt,name=a"`
	}
	type intKeys struct {
		A map[int]string `protobuf:"bytes,1,rep,name=a"`
	}
	type pointers struct {
		A []*string `protobuf:"bytes,1,rep,name=a"`
	}
	type foreign struct {
		A reflect.Value `protobuf:"bytes,1,opt,name=a"`
	}
	type twice struct {
		A string `protobuf:"bytes,1,opt,name=a"`
		B string `protobuf:"bytes,1,opt,name=b"`
	}
	type twiceByEmbedding struct {
		corev1.PodResourceClaim
		B string `protobuf:"bytes,3,opt,name=b"`
	}
	type embeddedPointer struct {
		*corev1.PodResourceClaim
	}
	type hidden struct{ twice }
	cases := []struct {
		v    any
		want string
	}{
		{&noNumber{}, "no field number"},
		{&badNumber{}, "no valid field number"},
		{&float{}, "no encoding for float64"},
		{&intKeys{}, "keys that are not strings"},
		{&pointers{}, "no encoding for *string"},
		{&foreign{}, "no generated methods"},
		{&twice{}, "both have number 1"},
		{&twiceByEmbedding{}, "both have number 3"},
		{&embeddedPointer{}, "not a struct"},
		{&hidden{}, "twice is not exported"},
		{twice{}, "not a pointer to a struct"},
		{nil, "not a pointer to a struct"},
	}
	for _, c := range cases {
		if err := Check(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Check(%T) = %v, want ...%s...", c.v, err, c.want)
		}
		if _, err := Marshal(c.v); err == nil {
			t.Errorf("Marshal(%T) gives no error", c.v)
		}
		if err := Unmarshal(nil, c.v); err == nil {
			t.Errorf("Unmarshal into %T gives no error", c.v)
		}
	}
	if err := Check(&claimHolder{}); err != nil {
		t.Error(err)
	}
}

func TestNilPointer(t *testing.T) {
	var nothing *AddedClaim
	if n := Size(nothing); n != 0 {
		t.Errorf("size %d", n)
	}
	if _, err := Marshal(nothing); err == nil {
		t.Error("a nil pointer is encoded")
	}
	if err := Unmarshal(nil, nothing); err == nil {
		t.Error("something is decoded into a nil pointer")
	}
}

func TestMarshalToShortBuffer(t *testing.T) {
	c := extraClaim("gpu")
	if _, err := MarshalTo(&c, make([]byte, Size(&c)-1)); !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("err = %v", err)
	}
}
