package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/allot-dev/allot/internal/cli"
	"github.com/allot-dev/allot/internal/etcd"
	"github.com/allot-dev/allot/internal/features"
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
}

const (
	defaultTimeout = 2 * time.Minute
	// stopPatience is how long an orderly stop may take.
	stopPatience = 20 * time.Second
)

func newUpCommand(streams Streams) *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a control plane with a simulated fleet in this process",
		Long: "Run an API server on an embedded etcd, controllers, a scheduler and a simulated fleet in this process, until Ctrl-C.\n" +
			"With -f, apply manifests, show what becomes of them, and keep serving.",
		Example: "  allot up\n  allot up -f examples/kep-5729.yaml\n  allot up --ephemeral --fleet examples/fleet.yaml -f job.yaml --exit-when-settled",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.machines.check(cmd.Flags()); err != nil {
				return err
			}
			if o.timeout <= 0 {
				return fmt.Errorf("--timeout: must be more than nothing, is %s", o.timeout)
			}
			err := up(cmd.Context(), o, streams)
			if err == nil && o.exitWhenSettled && cmd.Context().Err() != nil {
				return errReported // a script must not take what was interrupted for settled
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dataDir, "data-dir", "", "where the state is kept (default: $ALLOT_DATA_DIR, or allot in the user's state directory)")
	flags.BoolVar(&o.ephemeral, "ephemeral", false, "keep the state in a folder that goes away at the end")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", listenUsage("loopback address"))
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "manifest to apply: a file, a folder, or - for standard input; may be repeated")
	o.machines.addFlags(flags)
	addFeaturesFlag(flags, &o.features)
	flags.BoolVar(&o.exitWhenSettled, "exit-when-settled", false, "end once all that was applied runs (exit code 0), or after --timeout (exit code 1)")
	flags.DurationVar(&o.timeout, "timeout", defaultTimeout, "how long to wait for what was applied")
	cmd.MarkFlagsMutuallyExclusive("data-dir", "ephemeral")
	return cmd
}

// up runs an Instance until ctx ends, or, with exitWhenSettled, until all that was applied runs.
func up(ctx context.Context, o upOptions, streams Streams) (err error) {
	// What can be wrong without a server is found before anything is started.
	manifests, err := cli.ReadManifests(o.files, interruptible{ctx, streams.In})
	if ctx.Err() != nil {
		return nil // stopped while somebody was to type
	}
	if err != nil {
		return err
	}
	machines, err := o.machines.fleet()
	if err != nil {
		return err
	}
	if err := checkLoopback(o.listen); err != nil {
		return err
	}
	dir, remove, err := openDataDir(o.dataDir, o.ephemeral)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	log, err := openLog(dir)
	if err != nil {
		return err
	}
	defer log.Close()

	progress := cli.NewProgress(streams.Out, cli.StyleFor(streams.Out, os.Getenv), nil)
	instance, err := Start(ctx, Options{DataDir: dir, Listen: o.listen, Fleet: machines, Features: o.features, Step: progress.Step})
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped while starting, as wanted
		}
		if errors.Is(err, etcd.ErrInUse) {
			return fmt.Errorf("%w; use its control plane (allot kubectl …), stop it, or give another --data-dir", err)
		}
		return err
	}
	defer func() { err = errors.Join(err, stop(instance, progress)) }()

	kubeconfig := filepath.Join(dir, kubeconfigName)
	if err := instance.Server.WriteKubeconfig(kubeconfig); err != nil {
		return err
	}
	progress.Line("kubeconfig: %s", kubeconfig)
	progress.Line("try: kubectl --kubeconfig %s get nodes", quoted(kubeconfig))
	if len(manifests) > 0 {
		if done, err := applyAndFollow(ctx, o, instance, manifests, progress, streams); done || err != nil {
			return err
		}
	} else if o.exitWhenSettled {
		return nil
	}
	progress.Line("serving on %s; Ctrl-C stops", instance.Server.URL())
	select {
	case <-ctx.Done():
		return nil
	case <-instance.Failed():
	case <-instance.Server.Done():
	}
	return nil // stop says what failed
}

// applyAndFollow applies the manifests and shows what becomes of them. It answers done if the
// command is to end.
func applyAndFollow(ctx context.Context, o upOptions, instance *Instance, manifests []cli.Manifest, progress *cli.Progress, streams Streams) (done bool, err error) {
	line := func(text string) { progress.Line("%s", text) }
	applied, err := cli.Apply(ctx, instance.Server.Loopback(), manifests, line)
	if err != nil {
		if ctx.Err() != nil {
			return true, nil
		}
		return true, err
	}
	waiting, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	settling := progress.Step("placing and starting")
	summary, err := cli.Watch(waiting, instance.Client, instance.Caches, applied, line)
	if ctx.Err() != nil {
		settling("interrupted", nil)
		return true, nil
	}
	if !summary.Settled {
		err = fmt.Errorf("not settled within %s", o.timeout)
	}
	settling("all runs", err)
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

// stop ends the Instance and says so.
func stop(instance *Instance, progress *cli.Progress) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	done := progress.Step("stopping")
	err := instance.Stop(ctx)
	done("", err)
	return err
}
