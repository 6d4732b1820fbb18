package protobuf

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// FuzzUnmarshal searches for input that causes a panic, is decoded differently than by upstream, or
// cannot be encoded again. Run it with: go test -fuzz FuzzUnmarshal ./api/protobuf.
func FuzzUnmarshal(f *testing.F) {
	for seed := range int64(6) {
		pod := &corev1.Pod{}
		filler(seed).Fill(pod)
		data, err := pod.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)*2/3])
	}
	holder, err := Marshal(&claimHolder{Claims: []AddedClaim{extraClaim("gpu")}, AddedClaim: extraClaim("nic")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(holder)
	f.Add(bytes.Repeat([]byte{0xa2, 0x01, 0x04}, 50))
	rules := walkers()
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range rules {
			checkSafe(t, c, &corev1.Pod{}, data)
		}
		var first, second claimHolder
		if Unmarshal(data, &first) != nil {
			return
		}
		once, err := Marshal(&first)
		if err != nil {
			t.Fatal(err)
		}
		if err := Unmarshal(once, &second); err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		if twice, err := Marshal(&second); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("written once %x\nand twice %x, %v", once, twice, err)
		}
	})
}
