package app

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/allot-dev/allot/internal/cli"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/snapshot"
	"github.com/allot-dev/allot/internal/snapshot/restore"
)

// upOptions are the flags of allot up.
type upOptions struct {
	dataDir         string
	ephemeral       bool
	listen          string
	files           []string
	machines        fleetOptions
	exitWhenSettled bool
	timeout         time.Duration
	features        features.Set
	nodeGrace       time.Duration
	pluginsDir      string
	serviceRange    netip.Prefix
	logFormat       logFormat
	tracingFile     string
	snapshot        string // file of a snapshot to begin with
}

const (
	defaultTimeout = 2 * time.Minute
	// stopPatience is the time limit of an orderly stop.
	stopPatience = 20 * time.Second
)

func newUpCommand(streams Streams) *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a control plane with a simulated fleet in this process",
		Long: "Run an API server on an embedded etcd, controllers, a scheduler and a simulated fleet in this process, until Ctrl-C.\n" +
			"With -f, apply manifests, show what becomes of them, and keep serving.\n\n" +
			"Exit codes: 0 when it was stopped while it served, or all has settled with --exit-when-settled; 1 when something failed;\n" +
			"128 and the number of the signal (130 for Ctrl-C) when a signal came before all was applied, or settled with\n" +
			"--exit-when-settled. A second signal ends it immediately, unless it comes within a second.",
		Example: "  allot up\n  allot up -f examples/kep-5729.yaml\n  allot up --ephemeral --fleet examples/fleet.yaml -f job.yaml --exit-when-settled",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.machines.check(cmd.Flags()); err != nil {
				return err
			}
			if o.timeout <= 0 {
				return fmt.Errorf("--timeout must be positive, got %s", o.timeout)
			}
			if err := checkNodeGrace(o.nodeGrace); err != nil {
				return err
			}
			return runUp(cmd.Context(), o, streams)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dataDir, "data-dir", "",
		"where the state is kept (default: $ALLOT_DATA_DIR, or allot in the user's state directory)")
	flags.BoolVar(&o.ephemeral, "ephemeral", false, "keep the state in a folder that goes away at the end")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", listenUsage("loopback address"))
	addServiceRangeFlag(flags, &o.serviceRange)
	flags.StringArrayVarP(&o.files, "filename", "f", nil,
		"manifest to apply: a file, a folder, or - for standard input; may be repeated")
	o.machines.addFlags(flags)
	o.logFormat.addFlag(flags)
	addTracingFlag(flags, &o.tracingFile)
	addFeaturesFlag(flags, &o.features)
	addNodeGraceFlag(flags, &o.nodeGrace)
	addPluginsFlag(flags, &o.pluginsDir)
	flags.StringVar(&o.snapshot, "snapshot", "",
		"begin with the objects of this file, made by allot snapshot, on a simulated fleet with its nodes and devices")
	flags.BoolVar(&o.exitWhenSettled, "exit-when-settled", false,
		"end once all that was applied runs (exit code 0), or after --timeout (exit code 1)")
	flags.DurationVar(&o.timeout, "timeout", defaultTimeout, "how long to wait for what was applied")
	cmd.MarkFlagsMutuallyExclusive("data-dir", "ephemeral")
	for _, flag := range []string{"fleet", "nodes", "devices-per-node"} {
		cmd.MarkFlagsMutuallyExclusive("snapshot", flag)
	}
	return cmd
}

// upInput is the content of the files and flags of the command.
type upInput struct {
	manifests []cli.Manifest
	skipped   []string // a line for each file without a Kubernetes object
	machines  fleet.Fleet
	snap      *snapshot.Snapshot // nil for none
}

// read reads the input. Faults that need no server to be found are reported before any part starts.
func (o *upOptions) read(ctx context.Context, streams Streams) (in upInput, err error) {
	in.manifests, in.skipped, err = cli.ReadManifests(o.files, interruptible{ctx, streams.In})
	if ctx.Err() != nil {
		return upInput{}, fmt.Errorf("%w while it read manifests", errInterrupted)
	}
	if err != nil {
		return upInput{}, err
	}
	if in.machines, in.snap, err = o.fleet(streams); err != nil {
		return upInput{}, err
	}
	return in, checkLoopback(o.listen)
}

// runUp runs an Instance until ctx ends, or, with exitWhenSettled, until all applied objects are
// running.
func runUp(ctx context.Context, o upOptions, streams Streams) (err error) {
	in, err := o.read(ctx, streams)
	if err != nil {
		return err
	}
	dir, remove, err := openDataDir(o.dataDir, o.ephemeral, streams.hurry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	log, err := openLog(dir, o.logFormat)
	if err != nil {
		return err
	}
	defer log.Close()

	progress := cli.NewProgress(streams.Out, cli.StyleFor(streams.Out, os.Getenv), nil)
	for _, text := range append(warnings(dir), in.skipped...) {
		progress.Line("%s", text)
	}
	instance, err := o.start(ctx, dir, in, progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(instance, progress)) }()

	if err := printInstructions(instance, dir, progress); err != nil {
		return err
	}
	if len(in.manifests) > 0 {
		if done, err := applyAndFollow(ctx, o, instance, in.manifests, progress, streams); done || err != nil {
			return err
		}
	} else if o.exitWhenSettled {
		return nil
	}
	stopDashboard, err := startDashboard(ctx, instance.Server.Loopback(), progress)
	if err != nil {
		return err
	}
	defer stopDashboard()
	progress.Line("serving on %s; Ctrl-C stops", instance.Server.URL())
	select { // stop reports the error
	case <-ctx.Done():
	case <-instance.Failed():
	case <-instance.Server.Done():
	}
	return nil
}

// start starts an Instance with its state in dir.
func (o *upOptions) start(ctx context.Context, dir string, in upInput, progress *cli.Progress) (*Instance, error) {
	instance, err := Start(ctx, Options{
		DataDir: dir, Listen: o.listen, Fleet: in.machines, Snapshot: in.snap, Features: o.features, Step: progress.Step,
		NodeGrace: o.nodeGrace, NodeLease: o.nodeGrace * 4 / 5, PluginsDir: o.pluginsDir,
		ServiceClusterIPRange: o.serviceRange, TracingFile: o.tracingFile,
	})
	switch {
	case err == nil:
		return instance, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w while it started", errInterrupted)
	default:
		return nil, inUseRemedy(err)
	}
}

// printInstructions writes the kubeconfig, and prints how to use the Instance.
func printInstructions(instance *Instance, dir string, progress *cli.Progress) error {
	kubeconfig := filepath.Join(dir, kubeconfigName)
	if err := instance.Server.WriteKubeconfig(kubeconfig); err != nil {
		return err
	}
	progress.Line("kubeconfig: %s", kubeconfig)
	progress.Line("try: kubectl --kubeconfig %s get nodes", quoted(kubeconfig))
	if len(instance.Classes) > 0 {
		progress.Line("device classes: %s", strings.Join(instance.Classes, ", "))
	}
	return nil
}

// applyAndFollow applies the manifests and follows the objects until they have settled. It reports
// whether the command is done.
func applyAndFollow(
	ctx context.Context, o upOptions, instance *Instance, manifests []cli.Manifest, progress *cli.Progress,
	streams Streams,
) (done bool, err error) {
	applied, err := apply(ctx, instance, manifests, progress)
	if err != nil {
		return true, err
	}
	waiting, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	settling := progress.Counted("placing and starting", len(manifests))
	summary, err := cli.Watch(waiting, instance.Client, instance.Caches, applied, settling)
	if ctx.Err() != nil {
		settling.Done("interrupted", nil)
		if o.exitWhenSettled {
			return true, fmt.Errorf("%w: %d of %d objects had settled", errInterrupted, settling.Count(), len(applied))
		}
		return true, nil
	}
	if !summary.Settled {
		err = fmt.Errorf("not settled within %s", o.timeout)
	}
	settling.Done("all runs", err)
	if err := summary.Write(streams.Out); err != nil {
		return true, err
	}
	if !o.exitWhenSettled {
		return false, nil
	}
	if !summary.Settled {
		return true, errReported
	}
	return true, nil
}

// fleet returns the fleet that the flags describe, and the snapshot to begin with, or nil.
func (o *upOptions) fleet(streams Streams) (fleet.Fleet, *snapshot.Snapshot, error) {
	if o.snapshot == "" {
		machines, err := o.machines.fleet()
		return machines, nil, err
	}
	snap, err := readSnapshot(o.snapshot, streams.In)
	if err != nil {
		return fleet.Fleet{}, nil, err
	}
	return restore.Fleet(snap), snap, nil
}

// apply applies the manifests. If it is interrupted, the error has the number of applied objects.
func apply(
	ctx context.Context, instance *Instance, manifests []cli.Manifest, progress *cli.Progress,
) ([]cli.Ref, error) {
	applying := progress.Counted("applying", len(manifests))
	outcomes := cli.Outcomes{}
	applied, err := cli.Apply(ctx, instance.Server.Loopback(), manifests, func(ref cli.Ref, outcome string) {
		outcomes[outcome]++
		applying.Object(ref.String() + " " + outcome)
		applying.Set(applying.Count() + 1)
	})
	switch {
	case err == nil:
		applying.Done(outcomes.String(), nil)
	case ctx.Err() != nil:
		applying.Done("interrupted", nil)
		err = fmt.Errorf("%w: applied %d of %d objects", errInterrupted, len(applied), len(manifests))
	default:
		applying.Done("stopped", nil) // the caller reports the error
	}
	return applied, err
}

// stop stops the Instance and reports that it does.
func stop(instance *Instance, progress *cli.Progress) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	done := progress.Step("stopping")
	err := instance.Stop(ctx)
	done("", err)
	return err
}
