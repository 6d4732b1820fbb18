package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestMeasurement has 100 pods that are created each millisecond and bound one second later, except
// for the last one, which is not bound.
func TestMeasurement(t *testing.T) {
	begin := time.Unix(1000, 0)
	created, bound := map[string]time.Time{}, map[string]time.Time{}
	for i := range 101 {
		name := fmt.Sprintf("pod-%d", i)
		created[name] = begin.Add(time.Duration(i) * time.Millisecond)
		if i < 100 {
			bound[name] = created[name].Add(time.Second)
		}
	}
	bound["another"] = begin.Add(time.Hour) // of the preparation
	before := reading{cpu: time.Second, own: time.Second, machine: 10 * time.Second, writes: 50}
	atLast := reading{cpu: 3 * time.Second, own: 2 * time.Second, machine: 14 * time.Second}
	after := reading{cpu: 5 * time.Second, writes: 250, peak: 7 << 20}
	m := newMeasurement(created, bound, before, atLast, after)
	want := measurement{
		pods: 101, bound: 100, duration: 1099 * time.Millisecond, p50: time.Second, p99: time.Second,
		cpu: 40 * time.Millisecond, writes: 2, peak: 7 << 20, own: 0.75,
	}
	if m != want {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
}

func TestRatios(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out, []side{{name: "allot"}, {name: "kubernetes"}})
	for _, times := range []time.Duration{4, 2, 3} {
		r.add("w", "allot", measurement{
			pods: 10, bound: 10, duration: time.Second, cpu: time.Millisecond, p99: time.Second, writes: 2, peak: 1,
		})
		r.add("w", "kubernetes", measurement{
			pods: 10, bound: 10, duration: 2 * time.Second, cpu: times * time.Millisecond, p99: 3 * time.Second, writes: 5,
			peak: 8,
		})
	}
	r.add("stuck", "allot", measurement{pods: 10, bound: 10, duration: time.Second, cpu: 1})
	r.add("stuck", "kubernetes", measurement{pods: 10, bound: 9, duration: time.Second, cpu: 1})
	r.ratios()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	got := strings.Fields(lines[len(lines)-2])
	want := "w 3.0 (2.0 to 4.0) 2.0 (2.0 to 2.0) 3.0 (3.0 to 3.0) 2.5 (2.5 to 2.5) 8.0 (8.0 to 8.0)"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if got := strings.Fields(lines[len(lines)-1]); strings.Join(got, " ") != "stuck – – – – –" {
		t.Errorf("got %q for pods that were not bound", got)
	}
}

func TestIsWrite(t *testing.T) {
	for _, c := range []struct {
		verb, resource, code string
		want                 bool
	}{
		{"POST", "pods", "201", true},
		{"PATCH", "pods", "200", true},
		{"POST", "pods", "409", false},
		{"GET", "pods", "200", false},
		{"PUT", "leases", "200", false},
		{"POST", "subjectaccessreviews", "201", false},
	} {
		if got := isWrite(map[string]string{"verb": c.verb, "resource": c.resource, "code": c.code}); got != c.want {
			t.Errorf("%s %s %s: got %t", c.verb, c.resource, c.code, got)
		}
	}
}
