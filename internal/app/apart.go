package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/allot-dev/allot/internal/cli"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/metrics"
)

const (
	// askAgain is the interval between requests to an API server that does not answer.
	askAgain = 500 * time.Millisecond
	// stopWithin is how long a process that has lost its lease waits for its writers. Another
	// process may hold the lease soon after.
	stopWithin = 2 * time.Second
)

// apartOptions are the flags of a part that runs in a process of its own.
type apartOptions struct {
	kubeconfig   string
	healthListen string
	election     electionOptions
	features     features.Set
	logFormat    logFormat
}

func (o *apartOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"how the API server is reached (default: $KUBECONFIG, the user's, or the pod's service account)")
	addFeaturesFlag(flags, &o.features)
	o.logFormat.addFlag(flags)
	flags.StringVar(&o.healthListen, "health-listen", "127.0.0.1:0",
		"address of /healthz, /livez, /readyz and /metrics; port 0 is a free port")
}

// rules returns the rules for finding the kubeconfig.
func (o apartOptions) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	return rules
}

// config reads the kubeconfig. It disables client-side throttling, because the number of workers
// limits each part.
func (o apartOptions) config() (*rest.Config, error) {
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(o.rules(),
		&clientcmd.ConfigOverrides{}).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) && o.kubeconfig != "":
		return nil, fmt.Errorf("--kubeconfig: %s names no cluster to use", o.kubeconfig)
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no cluster is known: give --kubeconfig, or set $KUBECONFIG")
	case err != nil:
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	cfg.QPS = -1
	return cfg, nil
}

// workload creates the parts of a process in a component, before its caches start.
type workload struct {
	name  string // the name of the lease, and of the source of the events
	parts func(c *component) (parts []part, ready <-chan struct{}, err error)
	view  *stateView // nil if no scheduler is among the parts
}

// process is a part in a process of its own. It waits for the API server, then for its lease, then
// works.
type process struct {
	work     workload
	opts     apartOptions
	cfg      *rest.Config
	metrics  *metrics.Registry
	health   *health
	progress *cli.Progress

	// reach waits until the server can be used. leading runs while the lease is held.
	reach, leading func(context.Context) error
	// standby makes a process ready while it waits for the lease of another one.
	standby bool
}

// runApart runs work until ctx ends, work fails, or the lease is lost.
func runApart(ctx context.Context, o apartOptions, w workload, progress *cli.Progress) error {
	return runProcess(ctx, o, w, progress, func(p *process) { p.reach, p.leading = p.connect, p.lead })
}

// runProcess runs a process. set sets how it reaches the server, and what it does while it leads.
func runProcess(ctx context.Context, o apartOptions, w workload, progress *cli.Progress, set func(*process)) error {
	cfg, err := o.config()
	if err != nil {
		return err
	}
	if cfg, err = o.reloadingConfig(cfg, time.Now, progress.Line); err != nil {
		return err
	}
	watchdog := leaderelection.NewLeaderHealthzAdaptor(stopWithin)
	counts := metrics.New()
	h, err := listenHealth(o.healthListen, counts.Handler(), watchdog)
	if err != nil {
		return err
	}
	if w.view != nil {
		h.mux.Handle(statePath, onLoopback(w.view))
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- h.serve(ctx) }()
	progress.Line("health and metrics on %s", h.url())
	p := &process{work: w, opts: o, cfg: cfg, metrics: counts, health: h, progress: progress}
	set(p)
	err = p.run(ctx, watchdog)
	cancel()
	return errors.Join(err, <-served)
}

func (p *process) run(ctx context.Context, watchdog *leaderelection.HealthzAdaptor) error {
	if err := p.reach(ctx); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it is the context's end, as wanted
		}
		return err
	}
	watching, cancel := context.WithCancel(ctx)
	watched := make(chan error, 1)
	go func() { watched <- p.watchServer(watching) }()
	var err error
	if p.opts.election.enabled {
		err = p.elect(ctx, watchdog)
	} else {
		err = p.leading(ctx)
	}
	cancel()
	return errors.Join(err, <-watched)
}

// connect waits until the API server answers, and reports why it does not.
func (p *process) connect(ctx context.Context) error {
	client, err := discovery.NewDiscoveryClientForConfig(p.cfg)
	if err != nil {
		return err
	}
	done := p.progress.Step("API server " + p.cfg.Host)
	said := ""
	for {
		version, err := client.ServerVersion()
		if err == nil {
			done(version.GitVersion, nil)
			return nil
		}
		if reason := err.Error(); reason != said {
			said = reason
			p.health.wait("the API server: " + reason)
			p.progress.Line("waiting for the API server: %s", reason)
		}
		select {
		case <-ctx.Done():
			done("stopped", nil)
			return ctx.Err()
		case <-time.After(askAgain):
		}
	}
}

// elect waits for the lease and leads while it holds. The lease is released after the parts have
// stopped, so that no write of this process follows the first one of the next leader.
func (p *process) elect(ctx context.Context, watchdog *leaderelection.HealthzAdaptor) error {
	lease := p.opts.election.namespace + "/" + p.work.name
	p.health.wait("the lease " + lease)
	elected, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	var leading atomic.Bool
	led := make(chan error, 1)
	lead := func(holding context.Context) {
		leading.Store(true)
		working, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(holding, cancel)()
		led <- p.leading(working)
		giveUp()
	}
	follow := func(holder string) {
		p.progress.Line("lease %s is held by %s", lease, holder)
		if p.standby {
			p.health.setReady()
		}
	}
	elector, err := p.opts.election.elector(p.cfg, p.work.name, lead, follow)
	if err != nil {
		return err
	}
	watchdog.SetLeaderElection(elector)
	defer context.AfterFunc(ctx, func() {
		if !leading.Load() {
			giveUp()
		}
	})()
	elector.Run(elected) // returns when elected ends or the lease is lost
	lost := elected.Err() == nil
	switch {
	case lost:
		return errors.Join(errLeaseLost, waitFor(stopWithin, led))
	case leading.Load():
		return <-led
	}
	return nil
}

// waitFor returns the value that c delivers, or an error after limit.
func waitFor(limit time.Duration, c <-chan error) error {
	select {
	case err := <-c:
		return err
	case <-time.After(limit):
		return nil
	}
}

// lead runs the parts until ctx ends or one fails.
func (p *process) lead(ctx context.Context) error {
	done := p.progress.Step(p.work.name)
	parts, c, err := newComponent(ctx, p.cfg, p.metrics, p.opts.features)
	if err != nil {
		_, err = p.endStartStep(ctx, done, err)
		return err
	}
	defer c.stop()
	list, ready, err := p.work.parts(c)
	if err == nil {
		p.health.wait("its caches")
		c.Caches.Start(parts)
		err = c.start(parts, list, ready)
	}
	if running, err := p.endStartStep(ctx, done, err); !running {
		return err
	}
	select {
	case <-ctx.Done():
	case <-c.Failed():
	}
	p.health.wait("its end")
	return c.Err()
}

// endStartStep ends the step that starts the parts. An error is not a failure if ctx has ended meanwhile.
// The parts are ready when they are running.
func (p *process) endStartStep(
	ctx context.Context, done func(detail string, err error), err error,
) (running bool, failure error) {
	switch {
	case err == nil:
		done("running; Ctrl-C stops", nil)
		p.health.setReady()
		return true, nil
	case ctx.Err() != nil:
		done("stopped", nil)
		return false, nil //nolint:nilerr // it was ended
	}
	done("", err)
	return false, errReported
}
