package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/cli"
	"github.com/allot-dev/allot/internal/metrics"
	"github.com/allot-dev/allot/internal/node"
)

// identities are the users of the parts that run as separate processes, and the file names of their
// kubeconfigs.
var identities = []struct {
	file, user string
	groups     []string
}{
	{"controller-manager", "system:kube-controller-manager", nil},
	{"scheduler", "system:kube-scheduler", nil},
	{"node", rbac.FleetUser, nil},
}

// apiserverOptions are the flags of allot apiserver.
type apiserverOptions struct {
	dataDir   string
	logFormat logFormat
	config    apiserver.Config
}

func newAPIServerCommand(streams Streams) *cobra.Command {
	var o apiserverOptions
	cmd := &cobra.Command{
		Use:   "apiserver",
		Short: "Run the API server alone",
		Long: "Run the API server alone, on an embedded etcd or on one that --etcd-servers names, and write a kubeconfig for the\n" +
			"administrator and for each part that runs apart into the data directory. Certificates last for a year, and are made anew\n" +
			"when a third of that is left; the kubeconfigs are then written again, and parts that run read theirs again. Without a port\n" +
			"in --listen the server takes the one that it had before, so that they find it again.",
		Example: "  allot apiserver --data-dir /tmp/a --listen 127.0.0.1:6443\n" +
			"  allot apiserver --data-dir /tmp/b --pki-dir /tmp/a/pki --etcd-servers unix:///tmp/a/etcd/etcd.sock",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.logFormat.logTo(os.Stderr)
			return runAPIServer(cmd.Context(), o, cli.NewProgress(streams.Out, cli.StyleFor(streams.Out, os.Getenv), nil))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dataDir, "data-dir", "",
		"where the state is kept (default: $ALLOT_DATA_DIR, or allot in the user's state directory)")
	flags.StringVar(&o.config.Listen, "listen", "127.0.0.1:0", listenUsage("address"))
	flags.StringVar(&o.config.PKIDir, "pki-dir", "",
		"where the certificates are kept; servers on one etcd share it (default: pki in the data directory)")
	o.logFormat.addFlag(flags)
	addTracingFlag(flags, &o.config.TracingFile)
	addFeaturesFlag(flags, &o.config.Features)
	addServiceRangeFlag(flags, &o.config.ServiceClusterIPRange)
	flags.StringVar(&o.config.TokenFile, "token-auth-file", "", "CSV file of static tokens (token,user,uid,\"group,…\")")
	flags.StringSliceVar(&o.config.Etcd.URLs, "etcd-servers", nil, "URLs of an etcd to use instead of the embedded one")
	flags.StringVar(&o.config.Etcd.CAFile, "etcd-cafile", "", "certificate authority of that etcd")
	flags.StringVar(&o.config.Etcd.CertFile, "etcd-certfile", "", "certificate that this server shows to that etcd")
	flags.StringVar(&o.config.Etcd.KeyFile, "etcd-keyfile", "", "key of that certificate")
	return cmd
}

func runAPIServer(ctx context.Context, o apiserverOptions, progress *cli.Progress) (err error) {
	if _, err := checkAddress(o.config.Listen); err != nil {
		return err
	}
	dir, _, err := openDataDir(o.dataDir, false, nil)
	if err != nil {
		return err
	}
	o.config.DataDir, o.config.LastPort, o.config.ServiceAccounts = dir, lastPort(dir), true
	for _, text := range warnings(dir) {
		progress.Line("%s", text)
	}
	counts := metrics.New()
	o.config.Metrics, o.config.DeviceRefused = counts.Handler(), counts.Guard.Refused
	done := progress.Step("API server")
	server, err := startServer(ctx, o.config)
	if err != nil {
		if ctx.Err() != nil {
			done("stopped", nil)
			return fmt.Errorf("%w while it started", errInterrupted)
		}
		done("failed", nil)
		return inUseRemedy(err)
	}
	done(server.URL(), nil)
	defer func() {
		ending, cancel := context.WithTimeout(context.Background(), stopPatience)
		defer cancel()
		stopping := progress.Step("stopping")
		stopped := server.Stop(ending)
		stopping("", stopped)
		err = errors.Join(err, stopped)
	}()
	if err := writeKubeconfigs(server, dir, progress); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-server.Done():
	}
	return nil // Stop returns the error
}

// startServer starts a server. The end of ctx cancels the start, and does not stop a server that
// has started.
func startServer(ctx context.Context, cfg apiserver.Config) (*apiserver.Server, error) {
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	return apiserver.Start(running, cfg)
}

// writeKubeconfigs writes a kubeconfig for the administrator and one for each part.
func writeKubeconfigs(server *apiserver.Server, dir string, progress *cli.Progress) error {
	admin := filepath.Join(dir, kubeconfigName)
	if err := server.WriteKubeconfig(admin); err != nil {
		return err
	}
	progress.Line("kubeconfig: %s", admin)
	for _, id := range identities {
		path := filepath.Join(dir, id.file+".kubeconfig")
		if err := server.WriteUserKubeconfig(path, id.file, id.user, id.groups...); err != nil {
			return err
		}
		progress.Line("kubeconfig of the %s: %s", id.file, path)
	}
	return nil
}

func newControllerManagerCommand(streams Streams) *cobra.Command {
	var grace time.Duration
	var signing signingOptions
	cmd := newApartCommand(streams, "controller-manager", "Run all controllers", true, func(*apartOptions) workload {
		return workload{name: "allot-controller-manager", parts: func(c *component) ([]part, <-chan struct{}, error) {
			cfg := rest.CopyConfig(c.Client.Config())
			if err := rest.LoadTLSFiles(cfg); err != nil {
				return nil, nil, fmt.Errorf("certificates of the API server: %w", err)
			}
			c.nodeGrace, c.rootCA, c.issuer = grace, cfg.CAData, signing.issuer()
			parts, err := newControllers(c)
			return parts, nil, err
		}}
	})
	addNodeGraceFlag(cmd.Flags(), &grace)
	signing.addFlags(cmd.Flags())
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if err := signing.check(); err != nil {
			return err
		}
		return checkNodeGrace(grace)
	}
	return cmd
}

func newSchedulerCommand(streams Streams) *cobra.Command {
	return newApartCommand(streams, "scheduler", "Run the scheduler", true, func(*apartOptions) workload {
		view := &stateView{}
		return workload{name: "allot-scheduler", view: view, parts: func(c *component) ([]part, <-chan struct{}, error) {
			s, err := newScheduler(c, corev1.DefaultSchedulerName)
			if err != nil {
				return nil, nil, err
			}
			view.scheduler.Store(s)
			return []part{{"scheduler", s.Run}}, nil, nil
		}}
	})
}

func newNodeCommand(streams Streams) *cobra.Command {
	var machines fleetOptions
	var lease time.Duration
	var plugins string
	cmd := newApartCommand(streams, "node", "Run a fleet of simulated nodes", false, func(*apartOptions) workload {
		return workload{name: "allot-node", parts: func(c *component) ([]part, <-chan struct{}, error) {
			f, err := machines.fleet()
			if err != nil {
				return nil, nil, err
			}
			nodes, err := newNodes(c, Options{Fleet: f, NodeLease: lease, PluginsDir: plugins})
			if err != nil {
				return nil, nil, err
			}
			return []part{{"simulated fleet", nodes.Run}}, nodes.Ready(), nil
		}}
	})
	machines.addFlags(cmd.Flags())
	addPluginsFlag(cmd.Flags(), &plugins)
	cmd.Flags().DurationVar(&lease, "node-lease-duration", node.DefaultLeaseDuration,
		"how long the lease of the fleet counts; it is renewed four times in that time")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if lease < time.Second {
			return fmt.Errorf("--node-lease-duration must be at least 1s, got %s", lease)
		}
		return machines.check(cmd.Flags())
	}
	return cmd
}

// newApartCommand returns the command of a part. Nodes have no leader election: each process has
// its own nodes.
func newApartCommand(
	streams Streams, name, short string, elected bool, newWork func(*apartOptions) workload,
) *cobra.Command {
	var o apartOptions
	cmd := &cobra.Command{
		Use:   name,
		Short: short + " in a process of its own",
		Example: "  allot " + name + " --kubeconfig /tmp/a/" + name +
			".kubeconfig   # as allot apiserver --data-dir /tmp/a wrote it",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.logFormat.logTo(os.Stderr)
			progress := cli.NewProgress(streams.Out, cli.StyleFor(streams.Out, os.Getenv), nil)
			if err := runApart(cmd.Context(), o, newWork(&o), progress); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		},
	}
	o.addFlags(cmd.Flags())
	if elected {
		o.election.addFlags(cmd.Flags())
	}
	return cmd
}
