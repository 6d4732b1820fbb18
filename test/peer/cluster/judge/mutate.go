package judge

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Mutator changes objects randomly. All randomness comes from its source.
type Mutator struct {
	rand *rand.Rand
	// values has all values of each key in the manifests.
	values map[string][]any
	// children has all keys that occur together in an object, by the key of that object.
	children map[string][]string
}

// NewMutator returns a Mutator with the values of some objects.
func NewMutator(seed uint64, objects []any) *Mutator {
	m := &Mutator{rand: rand.New(rand.NewPCG(seed, 1)), values: map[string][]any{}, children: map[string][]string{}}
	for _, o := range objects {
		m.collect("", o)
	}
	for parent, keys := range m.children {
		slices.Sort(keys)
		m.children[parent] = slices.Compact(keys)
	}
	return m
}

func (m *Mutator) collect(parent string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			m.values[key] = append(m.values[key], v[key])
			m.children[parent] = append(m.children[parent], key)
			m.collect(key, v[key])
		}
	case []any:
		for i := range v {
			m.collect(parent, v[i])
		}
	}
}

func odd() []any {
	return []any{
		"", "a", "A_b", "a.b", "a/b", "a.b/c", "..", strings.Repeat("a", 64), strings.Repeat("a.", 127), nil, true, false,
		int64(0), int64(1), int64(-1), int64(33), int64(1) << 31, int64(1) << 62, "1Gi", "-1", "0.0000000001", "1m",
		map[string]any{}, []any{}, []any{""}, map[string]any{"a b": "c"}, "1.2.3", "True", "50%", "2026-01-02T11:00:00Z",
		"Always", "Never", "Exists", "In", "NoExecute", "10.0.0.1", "::1",
	}
}

// place is a value in an object.
type place struct {
	key   string
	value any
	set   func(any)
	unset func()
}

func places(key string, v any, out *[]place) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			*out = append(*out, place{k, v[k], func(x any) { v[k] = x }, func() { delete(v, k) }})
			places(k, v[k], out)
		}
	case []any:
		for i := range v {
			*out = append(*out, place{key, v[i], func(x any) { v[i] = x }, func() { v[i] = nil }})
			places(key, v[i], out)
		}
	}
}

// Change changes a part of an object in one to three places.
func (m *Mutator) Change(part any) {
	for range 1 + m.rand.IntN(3) {
		var all []place
		places("", part, &all)
		if len(all) == 0 {
			return
		}
		m.change(all[m.rand.IntN(len(all))])
	}
}

func (m *Mutator) change(p place) {
	switch m.rand.IntN(6) {
	case 0:
		p.set(clone(m.pick(odd())))
	case 1:
		p.unset()
	case 2, 3:
		if same := m.values[p.key]; len(same) > 0 {
			p.set(clone(m.pick(same)))
		}
	case 4:
		m.repeat(p)
	case 5:
		m.add(p)
	}
}

// repeat makes a list longer.
func (m *Mutator) repeat(p place) {
	list, ok := p.value.([]any)
	if !ok || len(list) == 0 {
		return
	}
	times := 1
	if m.rand.IntN(4) == 0 {
		times = 40
	}
	for range times {
		list = append(list, clone(m.pick(list)))
	}
	p.set(list)
}

// add sets a field that the struct has in another object.
func (m *Mutator) add(p place) {
	object, ok := p.value.(map[string]any)
	keys := m.children[p.key]
	if !ok || len(keys) == 0 {
		return
	}
	key := keys[m.rand.IntN(len(keys))]
	object[key] = clone(m.pick(m.values[key]))
}

func (m *Mutator) pick(from []any) any { return from[m.rand.IntN(len(from))] }

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = clone(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	}
	return v
}

// merge returns the result of a JSON merge patch (RFC 7396).
func merge(o, p any) any {
	change, ok := p.(map[string]any)
	if !ok {
		return p
	}
	out, _ := o.(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range change {
		if value == nil {
			delete(out, key)
		} else {
			out[key] = merge(out[key], value)
		}
	}
	return out
}
