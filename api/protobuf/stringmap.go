package protobuf

import (
	"maps"
	"reflect"
	"slices"
)

// stringMap is mapping for the most common map, without an allocation per entry.
type stringMap struct{ mapping }

var stringMapType = reflect.TypeFor[map[string]string]()

func entryOf(k, v string) int {
	return 2*entryKeySize + sizeWithLength(len(k)) + sizeWithLength(len(v))
}

func (s stringMap) size(f *field, v reflect.Value) int {
	n := 0
	for k, value := range *v.Addr().Interface().(*map[string]string) {
		n += len(f.key) + sizeWithLength(entryOf(k, value))
	}
	return n
}

func (s stringMap) write(f *field, buf []byte, i int, v reflect.Value) (int, error) {
	entries := *v.Addr().Interface().(*map[string]string)
	if len(entries) == 0 {
		return i, nil
	}
	keys := slices.AppendSeq(make([]string, 0, len(entries)), maps.Keys(entries))
	slices.Sort(keys)
	for _, k := range slices.Backward(keys) {
		end := i
		i = putString(buf, i, entries[k])
		i = putVarint(buf, i, key(2, wireBytes))
		i = putString(buf, i, k)
		i = putVarint(buf, i, key(1, wireBytes))
		i = f.writeKey(buf, putVarint(buf, i, uint64(end-i)))
	}
	return i, nil
}
