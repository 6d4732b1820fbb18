package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are the command-line flags.
type options struct {
	seed    uint64
	rounds  int
	time    time.Duration
	workers int
	kills   time.Duration
	watches int
	nodes   int
	devices int
	up      bool
	race    bool
	binary  string
	memory  string
	dir     string
}

func main() {
	log.SetFlags(log.Ltime)
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the random choices")
	flag.IntVar(&o.rounds, "rounds", 200, "number of workloads")
	flag.DurationVar(&o.time, "time", 5*time.Minute, "start no workload after this time")
	flag.IntVar(&o.workers, "workers", 4, "number of concurrent workloads")
	flag.DurationVar(&o.kills, "kills", 5*time.Second, "mean time between kills of separate processes; 0: none")
	flag.IntVar(&o.watches, "watches", 100, "number of watches on pods, a tenth of them slow")
	flag.IntVar(&o.nodes, "nodes", 8, "number of simulated nodes")
	flag.IntVar(&o.devices, "devices-per-node", 4, "number of devices per node")
	flag.BoolVar(&o.up, "up", false, "run allot up, instead of separate processes")
	flag.BoolVar(&o.race, "race", false, "build with the race detector")
	flag.StringVar(&o.binary, "binary", "", "use this binary instead of building one")
	flag.StringVar(&o.memory, "memory", "", "GOMEMLIMIT of each process, such as 256MiB")
	flag.StringVar(&o.dir, "dir", "", "directory for logs and state (default: a temporary one, kept after a failure)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := runSoak(ctx, o)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func runSoak(ctx context.Context, o options) (err error) {
	temporary := o.dir == ""
	if temporary {
		if o.dir, err = os.MkdirTemp("", "allot-soak-"); err != nil {
			return err
		}
	}
	defer func() {
		if err == nil && temporary {
			err = os.RemoveAll(o.dir)
		} else if err != nil {
			log.Printf("logs and state are in %s", o.dir)
		}
	}()
	if o.binary == "" {
		if o.binary, err = build(ctx, o); err != nil {
			return err
		}
	}
	p, err := startParts(ctx, o)
	if err != nil {
		return errors.Join(err, p.stop())
	}
	err = work(ctx, o, p)
	return errors.Join(err, p.stop(), p.faults())
}

// work runs the workloads, kills and checks, and prints a summary.
func work(ctx context.Context, o options, p *parts) error {
	api, err := connect(p.kubeconfig())
	if err != nil {
		return err
	}
	if err := api.prepare(ctx); err != nil {
		return err
	}
	began := time.Now()
	beside, cancel := context.WithCancel(ctx)
	defer cancel()
	checks := startChecks(beside, api)
	samples := p.startSampling(beside)
	watches, err := api.startWatches(beside, o.watches)
	if err != nil {
		return err
	}
	kills := p.startKills(beside, o)
	load := newLoad(o, api, began)
	failed := load.run(ctx)
	killed := kills()
	failed = errors.Join(failed, p.waitAll(ctx), watches.check(ctx), api.nothingLeft(ctx))
	cancel()
	failed = errors.Join(failed, checks())
	log.Printf("seed %d: %d workloads (%s) and %d kills in %s", o.seed, load.done.Load(), load.summary(), killed,
		time.Since(began).Round(time.Second))
	log.Print(watches.summary())
	log.Printf("resident memory in MiB: %s", samples())
	return failed
}

func build(ctx context.Context, o options) (string, error) {
	path := filepath.Join(o.dir, "allot")
	args := []string{"build", "-o", path}
	if o.race {
		args = append(args, "-race")
	}
	out, err := exec.CommandContext(ctx, "go", append(args, "./cmd/allot")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build allot: %w\n%s", err, out)
	}
	return path, nil
}
