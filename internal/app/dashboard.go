package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/cli"
	"github.com/allot-dev/allot/internal/dashboard"
	"github.com/allot-dev/allot/internal/snapshot/gather"
)

// dashboardOptions are the flags of allot dashboard.
type dashboardOptions struct {
	source
	listen    string
	rackLabel string
}

func newDashboardCommand(streams Streams, plugin bool) *cobra.Command {
	o := dashboardOptions{source: source{plugin: plugin}}
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Serve a live page of nodes, devices, groups and claims on this machine",
		Long: "Serve a page with a map of nodes and devices, the PodGroups and pods that wait and why, claims and what uses them, and what\n" +
			"happened in the last minutes; a click explains an object as allot explain does. It works on allot up, with allot attach,\n" +
			"and on any cluster of Kubernetes 1.34 or later, with the rights of your kubeconfig to list and watch.\n\n" +
			"It serves this machine alone, with a random token in the link, and changes nothing: there is no mode that writes.",
		Example: "  allot dashboard\n" +
			"  allot dashboard --snapshot cluster.snapshot",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.run(cmd.Context(), streams); err != nil {
				return fmt.Errorf("dashboard: %w", err)
			}
			return nil
		},
	}
	o.addFlags(cmd)
	cmd.Flags().StringVar(&o.listen, "listen", anyLoopbackPort, "loopback address to serve on; port 0 is a free port")
	cmd.Flags().StringVar(&o.rackLabel, "rack-label", "",
		"label of nodes that names their rack (default: the label named rack that most nodes have, else the zone)")
	completeNamespaces(cmd, &o.target, plugin)
	return cmd
}

// anyLoopbackPort is the address of a free port that other machines cannot reach.
const anyLoopbackPort = "127.0.0.1:0"

func (o *dashboardOptions) run(ctx context.Context, streams Streams) error {
	if err := checkLoopback(o.listen); err != nil {
		return err
	}
	view := dashboard.NewView(o.rackLabel)
	if o.file != "" {
		snap, err := readSnapshot(o.file, streams.In)
		if err != nil {
			return err
		}
		if err := view.Begin(snap); err != nil {
			return err
		}
		return o.serve(ctx, view, streams)
	}
	cfg, namespace, err := o.config(o.plugin)
	if err != nil {
		return err
	}
	g, err := gather.New(ctx, cfg)
	if err != nil {
		return err
	}
	g.Namespace = namespace
	// The first reading begins here, so that it is done when the link is opened.
	stop := inBackground(ctx, func(ctx context.Context) { followCluster(ctx, cfg, g, view) })
	defer stop()
	return o.serve(ctx, view, streams)
}

// serve prints the link to the page, and serves it until ctx ends.
func (o *dashboardOptions) serve(ctx context.Context, view *dashboard.View, streams Streams) error {
	server, err := dashboard.Listen(o.listen, view, func() {})
	if err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "dashboard: %s\n", server.URL())
	fmt.Fprintln(streams.Out, "It shows what you may list, and changes nothing. The link works on this machine; Ctrl-C stops.")
	return server.Serve(ctx)
}

// inBackground runs f until stop is called, which waits for it.
func inBackground(ctx context.Context, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// retryAfter is the time after which a cluster is read again that could not be.
const retryAfter = 2 * time.Second

// followCluster keeps a View up to date until ctx ends.
func followCluster(ctx context.Context, cfg *rest.Config, g *gather.Gatherer, view *dashboard.View) {
	stop := inBackground(ctx, func(ctx context.Context) {
		// Watches are tried again without a word, so the server is probed.
		lost := func(err error) { view.Fail(fmt.Errorf("the API server cannot be reached: %w; trying again", err)) }
		if err := watchReach(ctx, cfg, lost, view.Recover); err != nil {
			view.Fail(err)
		}
	})
	defer stop()
	for ctx.Err() == nil {
		if err := g.Watch(ctx, time.Now, view); err != nil && ctx.Err() == nil {
			view.Fail(fmt.Errorf("the cluster cannot be read: %w; trying again", err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// startDashboard serves the page of a cluster until the returned function is called, and prints its
// link. Nothing is read before the link is opened.
func startDashboard(ctx context.Context, cfg *rest.Config, progress *cli.Progress) (stop func(), err error) {
	view, opened := dashboard.NewView(""), make(chan struct{})
	server, err := dashboard.Listen(anyLoopbackPort, view, sync.OnceFunc(func() { close(opened) }))
	if err != nil {
		return nil, err
	}
	progress.Line("dashboard: %s", server.URL())
	stopFollowing := inBackground(ctx, func(ctx context.Context) {
		select {
		case <-ctx.Done():
			return
		case <-opened:
		}
		g, err := gather.New(ctx, cfg)
		if err != nil {
			view.Fail(fmt.Errorf("the cluster cannot be read: %w", err))
			return
		}
		followCluster(ctx, cfg, g, view)
	})
	stopServing := inBackground(ctx, func(ctx context.Context) {
		if err := server.Serve(ctx); err != nil {
			progress.Line("%v", err)
		}
	})
	return func() {
		stopServing()
		stopFollowing()
	}, nil
}
