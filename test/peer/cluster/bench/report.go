package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// report prints the measurements and their ratios.
type report struct {
	out   io.Writer
	sides []side
	// order has the workloads in the order of the measurements.
	order []string
	byKey map[reportKey][]measurement
}

// reportKey is a workload on a side.
type reportKey struct{ workload, side string }

func newReport(out io.Writer, sides []side) *report {
	return &report{out: out, sides: sides, byKey: map[reportKey][]measurement{}}
}

// add prints a measurement and keeps it for the ratios.
func (r *report) add(workload, side string, m measurement) {
	if !slices.Contains(r.order, workload) {
		r.order = append(r.order, workload)
	}
	key := reportKey{workload, side}
	r.byKey[key] = append(r.byKey[key], m)
	fmt.Fprintf(r.out, "%s on %s: ", workload, side)
	if m.bound < m.pods {
		fmt.Fprintf(r.out, "only %d of %d pods were bound; ", m.bound, m.pods)
	}
	if m.bound == 0 {
		fmt.Fprintln(r.out, "nothing to report")
		return
	}
	fmt.Fprintf(r.out, "%.0f pods/s, p50 %s, p99 %s, CPU %.2f ms/pod, %.2f writes/pod, peak %d MB, own %.2f\n",
		m.rate(), m.p50.Round(time.Millisecond), m.p99.Round(time.Millisecond),
		milliseconds(m.cpu), m.writes, m.peak>>20, m.own)
}

// ratios prints how many times better the first side is than the second.
func (r *report) ratios() {
	if len(r.sides) != 2 {
		return
	}
	first, second := r.sides[0].name, r.sides[1].name
	fmt.Fprintf(r.out, "\n%s ÷ %s (pods/s: %s ÷ %s): median (least to most)\n", second, first, first, second)
	table := tabwriter.NewWriter(r.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "workload\tCPU/pod\tpods/s\tp99\twrites/pod\tpeak memory")
	for _, workload := range r.order {
		a, b := r.byKey[reportKey{workload, first}], r.byKey[reportKey{workload, second}]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", workload,
			ratio(b, a, func(m *measurement) float64 { return m.cpu.Seconds() }),
			ratio(a, b, (*measurement).rate),
			ratio(b, a, func(m *measurement) float64 { return m.p99.Seconds() }),
			ratio(b, a, func(m *measurement) float64 { return m.writes }),
			ratio(b, a, func(m *measurement) float64 { return float64(m.peak) }))
	}
	table.Flush()
}

// ratio compares the measurements of the two sides in the order in which they were made. A pair with
// pods that were not bound has no ratio.
func ratio(above, below []measurement, of func(*measurement) float64) string {
	var all []float64
	for i := range min(len(above), len(below)) {
		a, b := &above[i], &below[i]
		if a.bound == a.pods && b.bound == b.pods {
			all = append(all, of(a)/of(b))
		}
	}
	if len(all) == 0 {
		return "–"
	}
	slices.Sort(all)
	return fmt.Sprintf("%.1f (%.1f to %.1f)", all[len(all)/2], all[0], all[len(all)-1])
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
