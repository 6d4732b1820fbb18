package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// quiet is the time for which both sides must be equal and unchanged: longer than the second
	// for which upstream's Job controller collects changes.
	quiet = 1500 * time.Millisecond
	// settled is the time for which both sides must be unchanged before a difference counts: longer
	// than the first back-offs of upstream's queues.
	settled = 8 * time.Second
	// longest limits the time of a comparison if objects change continuously.
	longest = 60 * time.Second
)

// Difference is a field of an object, or an event, that differs between the sides.
type Difference struct {
	Scenario string
	Line     int
	// Where is the object's KIND/NAME, a space, and the field's path; of an event, its type and
	// reason.
	Where           string
	Upstream, Allot string // "" if absent
}

func (d Difference) String() string {
	return fmt.Sprintf("%s:%d: %s\n\tupstream: %s\n\tallot:    %s", d.Scenario, d.Line, d.Where, orAbsent(d.Upstream),
		orAbsent(d.Allot))
}

func orAbsent(s string) string {
	if s == "" {
		return "(absent)"
	}
	return s
}

// differences returns the differences between two snapshots, sorted.
func differences(upstream, allot Snapshot) []Difference {
	var out []Difference
	all := maps.Clone(upstream.Values)
	maps.Copy(all, allot.Values)
	for _, where := range slices.Sorted(maps.Keys(all)) {
		if u, a := upstream.Values[where], allot.Values[where]; u != a {
			out = append(out, Difference{Where: where, Upstream: u, Allot: a})
		}
	}
	return out
}

// compare waits until both sides of a scenario are equal, except for intended differences, and
// remain so; otherwise until both are idle. It returns the remaining differences, and how each
// intended one was explained.
func compare(ctx context.Context, upstream, allot *stage, line int, table *table) ([]Difference, error) {
	began, last := time.Now(), time.Now()
	version := ""
	for {
		u, err := upstream.snapshot(ctx, upstream.namespace)
		if err != nil {
			return nil, err
		}
		a, err := allot.snapshot(ctx, allot.namespace)
		if err != nil {
			return nil, err
		}
		if now := u.Version + "\n" + a.Version; now != version {
			version, last = now, time.Now()
		}
		found := differences(u, a)
		for i := range found {
			found[i].Scenario, found[i].Line = upstream.scenario.Name, line
		}
		left := slices.DeleteFunc(slices.Clone(found), table.explains)
		unchanged := time.Since(last)
		if len(left) == 0 && unchanged > quiet || unchanged > settled || time.Since(began) > longest {
			table.use(found)
			return left, nil
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// report formats differences.
func report(list []Difference) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}
