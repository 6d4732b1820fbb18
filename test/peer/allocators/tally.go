package allocators

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// Tally counts outcomes, in total and by feature, and keeps the first world of each kind of
// difference.
type Tally struct {
	Seed  uint64
	Cases int

	counts  map[Feature]map[Outcome]int // "" for all worlds
	kinds   []kind
	unknown int // unexplained comparisons
	missed  int // those of them where only upstream allocates
}

// kind is a kind of difference: an outcome with its explanation.
type kind struct {
	Comparison
	count int
	first int // number of a world
}

// Agree compares the allocators on this number of worlds.
func Agree(seed uint64, cases int) *Tally {
	t := &Tally{Seed: seed, Cases: cases, counts: map[Feature]map[Outcome]int{}}
	for number := range cases {
		w := New(seed, uint64(number))
		if len(w.Claims) > 0 {
			t.add(w, number, Compare(w, 2*time.Second))
		}
	}
	return t
}

func (t *Tally) add(w *World, number int, c Comparison) {
	for _, f := range append([]Feature{""}, w.Features...) {
		if t.counts[f] == nil {
			t.counts[f] = map[Outcome]int{}
		}
		t.counts[f][c.Outcome]++
	}
	if c.Outcome == BothYes || c.Outcome == BothNo {
		return
	}
	if c.Unexplained() {
		t.unknown++
		if c.Outcome == OnlyUpstream {
			t.missed++
		}
	}
	for i := range t.kinds {
		if t.kinds[i].Outcome == c.Outcome && t.kinds[i].Why == c.Why {
			t.kinds[i].count++
			return
		}
	}
	t.kinds = append(t.kinds, kind{Comparison: c, count: 1, first: number})
}

// Unexplained returns the number of comparisons that differ without a known reason.
func (t *Tally) Unexplained() int { return t.unknown }

// Missed returns how many of these only upstream allocates.
func (t *Tally) Missed() int { return t.missed }

// Count returns the number of worlds with this outcome.
func (t *Tally) Count(o Outcome) int { return t.counts[""][o] }

// Print writes the counts as a table, and the first world of each kind of difference.
func (t *Tally) Print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "feature\t")
	var columns []Outcome
	for _, o := range Outcomes {
		if t.Count(o) > 0 || o == OnlyUpstream {
			columns = append(columns, o)
			fmt.Fprintf(table, "%s\t", o)
		}
	}
	fmt.Fprintln(table)
	for _, f := range append([]Feature{""}, Every...) {
		name := string(f)
		if f == "" {
			name = "in all"
		}
		fmt.Fprintf(table, "%s\t", name)
		for _, o := range columns {
			fmt.Fprintf(table, "%d\t", t.counts[f][o])
		}
		fmt.Fprintln(table)
	}
	table.Flush()
	fmt.Fprintln(out)
	idle := map[string]bool{}
	for _, difference := range intended {
		idle[difference.why] = true
	}
	for _, k := range t.kinds {
		why := k.Why
		if k.Unexplained() {
			why = "NOT EXPLAINED"
		}
		delete(idle, k.Why)
		fmt.Fprintf(out, "%s, %d times: %s\n", k.Outcome, k.count, why)
		fmt.Fprintf(out, "  first: -seed %d -case %d %v\n  %s\n", t.Seed, k.first, New(t.Seed, uint64(k.first)).Features,
			k.Detail)
	}
	for _, why := range slices.Sorted(maps.Keys(idle)) {
		fmt.Fprintf(out, "\nexplains nothing: %s", why)
	}
	fmt.Fprintln(out)
}
