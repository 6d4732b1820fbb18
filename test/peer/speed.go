package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/allot-dev/allot/test/peer/allocators"
)

// The performance goals of this project.
const (
	goalRatio = 10
	goalNo    = 10 * time.Millisecond // for a negative result on one node
)

// speed compares the cost, and prints missed goals. These are not errors, because machines differ.
func speed(arguments []string) error {
	flags := flag.NewFlagSet("speed", flag.ExitOnError)
	only := flags.String("case", "", "measure only cases with this text in their names")
	features := flags.String("features", "default", "feature gates of kube-scheduler: default or all")
	options := allocators.Options{Features: allocators.DefaultFeatures}
	flags.DurationVar(&options.Timeout, "timeout", 10*time.Second,
		"timeout of upstream on one node, as kube-scheduler's filterTimeout")
	flags.IntVar(&options.Rounds, "rounds", 5, "number of alternating measurements; the best counts")
	flags.DurationVar(&options.AtLeast, "atleast", 100*time.Millisecond, "minimum duration of a measurement")
	_ = flags.Parse(arguments) // exits the process if it fails
	if *features == "all" {
		options.Features = allocators.EveryFeature
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "case\tupstream ns/op\tresult\there ns/op\tresult\tratio\tgoal\t")
	for _, c := range allocators.Cases() {
		if !strings.Contains(c.Name, *only) {
			continue
		}
		row := allocators.Measure(c, options)
		more := ""
		if row.Upstream.Stopped {
			more = "> "
		}
		fmt.Fprintf(
			out,
			"%s\t%s%d\t%s\t%d\t%s\t%s%.1f\t%s\t\n",
			c.Name,
			more,
			row.Upstream.Time.Nanoseconds(),
			result(row.Upstream),
			row.Here.Time.Nanoseconds(),
			result(row.Here),
			more,
			float64(row.Upstream.Time)/float64(row.Here.Time),
			goal(row),
		)
	}
	out.Flush()
	if *only != "" {
		return nil
	}
	return memory()
}

func result(c allocators.Cost) string {
	switch {
	case c.Stopped:
		return "stopped"
	case c.Err != nil:
		return "error"
	case c.Yes:
		return "yes"
	}
	return "no"
}

// goal returns the goal that was missed.
func goal(row allocators.Row) string {
	var missed []string
	if row.Here.Err != nil || row.Here.Yes != row.Case.Want {
		missed = append(missed, "WRONG")
	}
	if float64(row.Upstream.Time) < goalRatio*float64(row.Here.Time) {
		missed = append(missed, fmt.Sprintf("below %d×", goalRatio))
	}
	if !row.Case.Want && !row.Case.Sweep && row.Here.Time > goalNo {
		missed = append(missed, fmt.Sprintf("no takes over %s", goalNo))
	}
	return strings.Join(missed, ", ")
}

func memory() error {
	m, err := allocators.MeasureMemory()
	if err != nil {
		return err
	}
	mb := func(bytes uint64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
	fmt.Printf("\nmemory of 100,000 devices (12,500 slices)\n"+
		"  upstream: objects of the informer       %s\n"+
		"  here: the State, without the objects    %s\n"+
		"  here: the State beside the objects      %s, that is %s more than the objects\n"+
		"  here: what was worked out for a claim   %s\n", mb(m.Objects), mb(m.State), mb(m.Both), mb(m.Both-m.Objects), mb(m.Matched))
	return nil
}
