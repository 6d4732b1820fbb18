package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/attach"
	"github.com/allot-dev/allot/internal/cli"
)

const (
	// attachName is the name of the lease, and of the source of the events.
	attachName = "allot-attach"
	// surveyTimeout is the time limit for one survey of the server.
	surveyTimeout = 20 * time.Second
	// longestPause is the longest pause between two surveys of a server that lacks something.
	longestPause = 10 * time.Second
)

// attachOptions are the flags of allot attach.
type attachOptions struct {
	apartOptions
	schedulerName string
	controllers   []string
	rivals        rivalsPolicy
	lookAgain     time.Duration
}

func (o *attachOptions) addFlags(flags *pflag.FlagSet) {
	o.apartOptions.addFlags(flags)
	o.election.addFlags(flags)
	flags.StringVar(&o.schedulerName, "scheduler-name", "allot",
		"spec.schedulerName of the pods to place; all others are left alone")
	flags.StringSliceVar(
		&o.controllers,
		"controllers",
		nil,
		"controllers to run beside those that the cluster needs, or with a minus before, not to run:\n"+strings.Join(
			attachable(), ", ",
		),
	)
	o.rivals = rivalsWarn
	flags.Var(&o.rivals, "other-schedulers",
		"what to do when another scheduler gives out the same devices: warn, or refuse to start")
	flags.DurationVar(&o.lookAgain, "look-again", time.Minute, "how often the kinds and the rights are looked at again")
}

func newAttachCommand(streams Streams) *cobra.Command {
	var o attachOptions
	cmd := &cobra.Command{
		Use:   "attach",
		Short: "Schedule pods of an existing Kubernetes cluster",
		Long: "Run allot's scheduler, and those of its controllers that the cluster lacks, against an existing Kubernetes cluster of\n" +
			"version 1.34 or later. It places the pods that name it in spec.schedulerName. PodGroups are the server's own where it\n" +
			"has them, and those of the group allot.dev otherwise.",
		Example: "  allot attach --kubeconfig ~/.kube/config --scheduler-name allot\n" +
			"  allot attach --controllers=claim,podgroup   # where nobody else makes the claims of PodGroups",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.logFormat.logTo(os.Stderr)
			progress := cli.NewProgress(streams.Out, cli.StyleFor(streams.Out, os.Getenv), nil)
			if err := runAttach(cmd.Context(), o, progress); err != nil {
				return fmt.Errorf("attach: %w", err)
			}
			return nil
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func runAttach(ctx context.Context, o attachOptions, progress *cli.Progress) error {
	if err := checkControllers(o.controllers); err != nil {
		return err
	}
	a := &attachment{opts: o}
	return runProcess(ctx, o.apartOptions, workload{name: attachName, view: &stateView{}}, progress, func(p *process) {
		a.process = p
		p.standby = true
		p.reach = a.awaitServer
		p.leading = a.lead
	})
}

// attachable returns the names of the controllers that may run on an existing cluster.
func attachable() []string {
	var names []string
	for _, m := range attachableMakers(nil, "") {
		names = append(names, m.id())
	}
	slices.Sort(names)
	return names
}

func checkControllers(wanted []string) error {
	for _, name := range wanted {
		if !slices.Contains(attachable(), strings.TrimPrefix(name, "-")) {
			return fmt.Errorf("--controllers: there is no controller %q; there are %s", name, strings.Join(attachable(), ", "))
		}
	}
	return nil
}

// surveyor surveys the server: what it has, and what this process may do.
type surveyor struct {
	discovery *discovery.DiscoveryClient
	clients   kubernetes.Interface
}

// newSurveyor returns a surveyor whose requests each take no longer than a survey may.
func newSurveyor(cfg *rest.Config) (*surveyor, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = surveyTimeout
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make clients for %s: %w", cfg.Host, err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client for %s: %w", cfg.Host, err)
	}
	// Discovery requests one group version at a time, so that a broken one matters only if it is
	// needed.
	d.UseLegacyDiscovery = true
	return &surveyor{d, clients}, nil
}

// survey returns what to run on the server, or an error with why that is not possible.
func (s *surveyor) survey(ctx context.Context, o *attachOptions) (attach.Choice, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	survey, err := attach.Look(ctx, s.discovery)
	if err != nil {
		return attach.Choice{}, err
	}
	reviews := s.clients.AuthorizationV1().SelfSubjectAccessReviews()
	if err := survey.Narrow(ctx, reviews); err != nil {
		return attach.Choice{}, err
	}
	choice := attach.Choose(survey, o.controllers, o.features)
	missing, err := attach.Missing(ctx, reviews, "", attach.Rules(&choice))
	if err != nil {
		return choice, err
	}
	if o.election.enabled {
		leases, err := attach.Missing(ctx, reviews, o.election.namespace, attach.LeaseRules(attachName))
		if err != nil {
			return choice, err
		}
		missing = append(missing, leases...)
	}
	if len(missing) > 0 {
		return choice, missingRights(missing)
	}
	return choice, nil
}

// missingRights are the rights that this process needs and does not have.
type missingRights []string

func (m missingRights) Error() string {
	return "this process may not " + strings.Join(m, ", ")
}
