package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	workloads []workload
	sides     []side
	runs      int
	timeout   time.Duration
}

func main() {
	log.SetFlags(0)
	names := flag.String("workload", "", "which workloads to run, separated by commas; all if empty")
	sides := flag.String("side", "allot,kubernetes", "which sides to measure")
	runs := flag.Int("runs", 1, "how often to measure each workload on each side")
	scale := flag.Float64("scale", 1, "multiplies the numbers of nodes, groups and pods")
	timeout := flag.Duration("timeout", 5*time.Minute, "time after which a measurement ends without its last pods")
	list := flag.Bool("list", false, "list the workloads")
	flag.Parse()
	if *list {
		for _, w := range workloads(1) {
			fmt.Printf("%-48s %s\n", w.name, w.title)
		}
		return
	}
	o, err := parse(*names, *sides, *scale)
	if err != nil {
		log.Fatal(err)
	}
	o.runs, o.timeout = *runs, *timeout
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = runAll(ctx, o)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// parse returns the selected workloads and sides.
func parse(names, sideNames string, scale float64) (options, error) {
	var o options
	for _, w := range workloads(scale) {
		if names == "" || slices.Contains(strings.Split(names, ","), w.name) {
			o.workloads = append(o.workloads, w)
		}
	}
	if len(o.workloads) == 0 {
		return o, fmt.Errorf("-workload %q: unknown, see -list", names)
	}
	for name := range strings.SplitSeq(sideNames, ",") {
		start, ok := starts[name]
		if !ok {
			return o, fmt.Errorf("-side %q: must be allot or kubernetes", name)
		}
		o.sides = append(o.sides, side{name, start})
	}
	return o, nil
}

// runAll measures each workload on each side, and prints a line for each measurement and the table of
// ratios.
func runAll(ctx context.Context, o options) error {
	results := newReport(os.Stdout, o.sides)
	for i := range o.workloads {
		for range o.runs {
			for _, side := range o.sides {
				m, err := measureOn(ctx, side, &o.workloads[i], o.timeout)
				if err != nil {
					return fmt.Errorf("%s on %s: %w", o.workloads[i].name, side.name, err)
				}
				results.add(o.workloads[i].name, side.name, m)
			}
		}
	}
	results.ratios()
	return nil
}

// measureOn starts a control plane, measures one workload on it, and stops it.
func measureOn(ctx context.Context, s side, w *workload, limit time.Duration) (m measurement, err error) {
	dir, err := os.MkdirTemp("", "allot-bench-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	control, err := s.start(ctx, dir)
	if err != nil {
		return m, err
	}
	defer func() {
		if stopped := control.stop(); err == nil {
			err = stopped
		}
	}()
	run, err := newRun(control, w)
	if err != nil {
		return m, err
	}
	m, err = run.measure(ctx, limit)
	if m.bound < m.pods {
		for _, p := range control.processes {
			log.Println(p.Tail())
		}
	}
	return m, err
}
