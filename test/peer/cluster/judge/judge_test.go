package judge

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	count  = flag.Int("mutations", 300, "mutated objects of each kind")
	seed   = flag.Uint64("seed", 1, "seed of the mutations")
	only   = flag.String("kind", "", "only this kind, such as Pod")
	report = flag.String("report", "", "write all differences to this file, those that are intended too")
)

// court is both servers, and what was found.
type court struct {
	theirs, ours *Server
	versions     map[schema.GroupResource][]string
	found        map[string]*finding
	intended     map[int]int
	asked        map[string]int
	compared     map[schema.GroupResource]bool
	accepted     map[string]int
}

// finding is a kind of difference, with the first request that shows it.
type finding struct {
	Difference
	times   int
	request Request
	name    string
}

func newCourt(t *testing.T) *court {
	t.Helper()
	theirs, err := Upstream()
	if err != nil {
		t.Fatal(err)
	}
	ours, versions, err := Allot()
	if err != nil {
		t.Fatal(err)
	}
	return &court{
		theirs: theirs, ours: ours, versions: versions,
		found: map[string]*finding{}, intended: map[int]int{},
		compared: map[schema.GroupResource]bool{}, asked: map[string]int{}, accepted: map[string]int{},
	}
}

// judge asks both servers.
func (c *court) judge(name string, r Request) {
	if c.theirs.Rules[r.Resource.GroupResource()].Create == nil ||
		!c.theirs.Scheme.IsVersionRegistered(r.Resource.GroupVersion()) {
		return
	}
	var versions []string
	for _, v := range c.versions[r.Resource.GroupResource()] {
		gvk := schema.GroupVersionKind{Group: r.Resource.Group, Version: v, Kind: r.Kind}
		if c.theirs.Scheme.Recognizes(gvk) {
			versions = append(versions, v)
		}
	}
	theirs := c.theirs.Ask(r, versions)
	ours := c.ours.Ask(r, versions)
	if theirs.NoObject || ours.NoObject {
		return // the creation is compared by itself
	}
	c.asked[r.GroupKind()]++
	c.compared[r.Resource.GroupResource()] = true
	if theirs.Accepted() {
		c.accepted[r.GroupKind()]++
	}
	differences := Compare(r, theirs, ours)
	if len(differences) > 0 {
		// The servers look at the clock one after the other. What comes from that alone is not there the
		// second time.
		again := Compare(r, c.theirs.Ask(r, versions), c.ours.Ask(r, versions))
		differences = slices.DeleteFunc(differences, func(d Difference) bool {
			return !slices.ContainsFunc(again, func(other Difference) bool { return other.String() == d.String() })
		})
	}
	for _, d := range differences {
		if i := explain(d, r); i >= 0 {
			c.intended[i]++
			continue
		}
		f, ok := c.found[d.String()]
		if !ok {
			f = &finding{Difference: d, request: r, name: name}
			c.found[d.String()] = f
		}
		f.times++
	}
}

func TestJudge(t *testing.T) {
	c := newCourt(t)
	manifests, err := Manifests()
	if err != nil {
		t.Fatal(err)
	}
	byKind := map[string][]Manifest{}
	for _, m := range manifests {
		if *only != "" && m.Kind != *only {
			continue
		}
		byKind[m.GroupKind()] = append(byKind[m.GroupKind()], m)
		for _, r := range m.requests() {
			c.judge(m.File, r)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		began := time.Now()
		c.mutations(byKind[kind], *count)
		t.Logf("%-28s %7d requests, %7d accepted by Kubernetes, %s", kind, c.asked[kind], c.accepted[kind],
			time.Since(began).Round(time.Millisecond))
	}
	c.conclude(t)
}

// requests are what a manifest says; an object that is made is sent once more too, as update and as
// status.
func (m Manifest) requests() []Request {
	object, changed := encode(m.Object), encode(m.Changed)
	base := Request{Resource: m.Resource, Kind: m.Kind, Verb: "create", New: object}
	if m.Verb == "create" {
		return []Request{base}
	}
	r := base
	r.Verb, r.Old, r.New = m.Verb, object, changed
	return []Request{base, r}
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// mutations asks for n changed objects of a kind.
func (c *court) mutations(manifests []Manifest, n int) {
	var objects []any
	for _, m := range manifests {
		objects = append(objects, map[string]any(m.Object))
		if m.Changed != nil {
			objects = append(objects, map[string]any(m.Changed))
		}
	}
	mutator := NewMutator(*seed, objects)
	valid := c.valid(manifests)
	rules := c.theirs.Rules[manifests[0].Resource.GroupResource()]
	for i := range n {
		m := manifests[i%len(manifests)]
		r := Request{Resource: m.Resource, Kind: m.Kind, Verb: "create"}
		from := m.Object
		switch {
		case len(valid) == 0 || i%3 == 0:
		case i%3 == 1 || rules.Status == nil:
			m = valid[mutator.rand.IntN(len(valid))]
			r.Resource, r.Verb, r.Old, from = m.Resource, "update", encode(m.Object), m.Object
		default:
			m = valid[mutator.rand.IntN(len(valid))]
			r.Resource, r.Verb, r.Old, from = m.Resource, "status", encode(m.Object), m.Object
		}
		if m.Changed != nil && mutator.rand.IntN(2) == 0 {
			from = m.Changed
		}
		changed := clone(from).(map[string]any)
		part := any(changed)
		if sub, ok := changed[map[string]string{"create": "spec", "update": "spec",
			"status": "status"}[r.Verb]].(map[string]any); ok &&
			mutator.rand.IntN(8) > 0 {
			part = sub
		}
		mutator.Change(part)
		changed["apiVersion"], changed["kind"] = m.Object["apiVersion"], m.Object["kind"]
		r.New = encode(changed)
		c.judge(fmt.Sprintf("%s, mutation %d of seed %d", m.File, i, *seed), r)
	}
}

// valid returns the manifests whose first object both servers accept.
func (c *court) valid(manifests []Manifest) []Manifest {
	var out []Manifest
	for _, m := range manifests {
		r := Request{Resource: m.Resource, Kind: m.Kind, Verb: "create", New: encode(m.Object)}
		if c.theirs.Rules[r.Resource.GroupResource()].Create == nil ||
			!c.theirs.Scheme.IsVersionRegistered(r.Resource.GroupVersion()) {
			continue
		}
		if c.theirs.Ask(r, nil).Accepted() && c.ours.Ask(r, nil).Accepted() {
			out = append(out, m)
		}
	}
	return out
}

// conclude reports each kind of difference that is not intended, rules that explain nothing, and
// kinds that no request was about.
func (c *court) conclude(t *testing.T) {
	t.Helper()
	c.report(t)
	if *only != "" {
		return
	}
	for i, rule := range intended {
		if c.intended[i] == 0 {
			t.Errorf("nothing is explained by %q any more", rule.Name)
		}
	}
	for resource := range c.theirs.Rules {
		if !c.compared[resource] {
			t.Errorf("no request about %s was compared: there is no manifest that both servers read", resource)
		}
	}
}

func (c *court) report(t *testing.T) {
	t.Helper()
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(c.found)) {
		f := c.found[key]
		fmt.Fprintf(&text, "%s (%d times, first: %s)\n\t%s\n", key, f.times, f.name,
			strings.ReplaceAll(cut(f.Text), "\n", "\n\t"))
		if f.request.Verb != "create" {
			fmt.Fprintf(&text, "\told: %s\n", f.request.Old)
		}
		fmt.Fprintf(&text, "\tnew: %s\n", f.request.New)
	}
	if *report != "" {
		if err := os.WriteFile(*report, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.found) > 0 {
		t.Errorf("%d kinds of differences are not intended:\n%s", len(c.found), text.String())
	}
}

// TestIntendedIsListed holds each rule to a row of DIFFERENCES.md.
func TestIntendedIsListed(t *testing.T) {
	rows, err := os.ReadFile("../../../../DIFFERENCES.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range intended {
		if !strings.Contains(string(rows), "\n| "+rule.Listed) {
			t.Errorf("%s: DIFFERENCES.md has no row %q", rule.Name, rule.Listed)
		}
	}
}

func cut(text string) string {
	if len(text) > 600 {
		return text[:600] + "…"
	}
	return text
}
