package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/app"
	"github.com/allot-dev/allot/internal/cli"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/fleet"
)

// Size of the fleet of the zero value of Options.
const (
	defaultNodes   = 3
	defaultDevices = 4
)

// stopPatience is the time limit of Stop.
const stopPatience = 20 * time.Second

// Options configures an Env. The zero value is valid.
type Options struct {
	// Manifests are files and folders of YAML or JSON whose objects are applied before Start returns:
	// CustomResourceDefinitions, webhook configurations, DeviceClasses. CustomResourceDefinitions are
	// established then.
	Manifests []string
	// Fleet describes the simulated nodes and their devices, in the format of docs/fleet.md. Default:
	// three nodes, node-0 to node-2, with four devices of the driver sim.allot.dev each.
	Fleet string
	// FeatureGates switches features as --feature-gates of allot up does, such as "AllAlpha=false".
	FeatureGates string
	// PodClock is the clock of the pods on the simulated nodes: how long they run and take to stop
	// (docs/fleet.md). With a fake clock, a test decides when they end; it should begin at the
	// current time. Default: the system clock.
	PodClock clock.WithTicker
	// PluginsDir is the folder in which DRA drivers register (docs/drivers.md). Default: none can.
	PluginsDir string
}

// Env is a control plane with simulated nodes.
type Env struct {
	// Config is for clients of the API server, with the rights of an administrator.
	Config *rest.Config

	instance *app.Instance
	dir      string
}

// Start starts an Env. It returns when all nodes are registered and all manifests are applied. The
// Env runs until Stop; the end of ctx stops its parts, but does not delete its files.
func Start(ctx context.Context, opts Options) (env *Env, err error) {
	manifests, _, err := cli.ReadManifests(opts.Manifests, nil)
	if err != nil {
		return nil, err
	}
	settings := app.Options{
		UnsafeNoFsync: true,
		PluginsDir:    opts.PluginsDir,
		PodClock:      opts.PodClock,
		Fleet:         fleet.Simple(defaultNodes, defaultDevices),
	}
	if opts.Fleet != "" {
		if settings.Fleet, err = fleet.Parse([]byte(opts.Fleet)); err != nil {
			return nil, fmt.Errorf("fleet: %w", err)
		}
	}
	if settings.Features, err = featuresOf(opts.FeatureGates); err != nil {
		return nil, err
	}
	if settings.DataDir, err = os.MkdirTemp("", "allot-testenv-"); err != nil {
		return nil, err
	}
	instance, err := app.Start(ctx, settings)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(settings.DataDir))
	}
	env = &Env{instance: instance, dir: settings.DataDir}
	if err := env.begin(ctx, manifests); err != nil {
		return nil, errors.Join(err, env.Stop())
	}
	return env, nil
}

func featuresOf(text string) (features.Set, error) {
	var set features.Set
	if text == "" {
		return set, nil
	}
	return set, set.Set(text)
}

func (e *Env) begin(ctx context.Context, manifests []cli.Manifest) error {
	if err := e.instance.Server.WriteKubeconfig(e.Kubeconfig()); err != nil {
		return err
	}
	e.Config = rest.CopyConfig(e.instance.Server.Loopback())
	_, err := cli.Apply(ctx, e.Config, manifests, func(cli.Ref, string) {})
	return err
}

// Kubeconfig returns the path of a kubeconfig, for other processes. It is deleted by Stop.
func (e *Env) Kubeconfig() string { return filepath.Join(e.dir, "admin.kubeconfig") }

// Stop stops the Env and deletes its files. It returns the error of a part that has failed.
func (e *Env) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	return errors.Join(e.instance.Stop(ctx), os.RemoveAll(e.dir))
}
