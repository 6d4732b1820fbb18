package judge

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestFields sets each field that the Go type of a kind has, in a manifest that is valid otherwise:
// in a new object, and in a change of one or of its status. The manifests alone lack many fields.
func TestFields(t *testing.T) {
	c := newCourt(t)
	manifests, err := Manifests()
	if err != nil {
		t.Fatal(err)
	}
	byKind, objects := map[string][]Manifest{}, []any{}
	for _, m := range manifests {
		objects = append(objects, map[string]any(m.Object))
		if *only == "" || m.Kind == *only {
			byKind[m.GroupKind()] = append(byKind[m.GroupKind()], m)
		}
	}
	mutator := NewMutator(*seed, objects)
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		began := time.Now()
		valid := c.valid(byKind[kind])
		if len(valid) == 0 {
			continue // a kind of allot alone
		}
		obj, err := c.theirs.Scheme.New(valid[0].Resource.GroupVersion().WithKind(valid[0].Kind))
		if err != nil {
			t.Fatal(err)
		}
		fields, accepted := c.fields(mutator, valid, reflect.TypeOf(obj).Elem())
		t.Logf("%-28s %5d fields, %5d of them in an object that Kubernetes accepts, %6d requests, %s",
			kind, fields, accepted, c.asked[kind], time.Since(began).Round(time.Millisecond))
	}
	c.report(t)
}

// fields asks for changes of valid manifests of one kind, and returns the number of its fields, and
// of those that Kubernetes has accepted in an object.
func (c *court) fields(mutator *Mutator, valid []Manifest, t reflect.Type) (fields, accepted int) {
	kind := valid[0].GroupKind()
	for i, path := range Paths(t) {
		if path[0] == "apiVersion" || path[0] == "kind" ||
			len(path) > 1 && (path[1] == "managedFields" || path[1] == "managedFields[]") {
			continue // the server writes them
		}
		fields++
		before := c.accepted[kind]
		for round := range 1 + *count/5000 {
			c.field(mutator, valid[(i+round)%len(valid)], t, path)
		}
		if c.accepted[kind] > before {
			accepted++
		}
	}
	return fields, accepted
}

// field asks for a new object, and for a change of one, in which one field is set.
func (c *court) field(mutator *Mutator, m Manifest, t reflect.Type, path Path) {
	changed := clone(m.Object).(map[string]any)
	if !mutator.Set(changed, t, path) {
		return
	}
	name := fmt.Sprintf("%s with %s, seed %d", m.File, path, *seed)
	r := Request{Resource: m.Resource, Kind: m.Kind, Verb: "create", New: encode(changed)}
	c.judge(name, r)
	r.Verb, r.Old = "update", encode(m.Object)
	if path[0] == "status" && c.theirs.Rules[m.Resource.GroupResource()].Status != nil {
		r.Verb = "status"
	}
	c.judge(name, r)
}
