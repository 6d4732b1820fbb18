package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// electionNamespace is the default namespace of the leases.
const electionNamespace = "kube-system"

// errLeaseLost ends a process that may not write any more.
var errLeaseLost = errors.New("the lease is lost: it was not renewed in time, or another process leads")

// electionOptions are the flags of leader election, with the names and defaults of kube-scheduler.
type electionOptions struct {
	enabled       bool
	namespace     string
	leaseDuration time.Duration
	renewDeadline time.Duration
	retryPeriod   time.Duration
}

func (o *electionOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.enabled, "leader-elect", true, "work only while holding the lease, so that several processes may run")
	flags.StringVar(&o.namespace, "leader-elect-resource-namespace", electionNamespace, "namespace of the lease")
	flags.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second,
		"how long a lease holds that its holder does not renew")
	flags.DurationVar(&o.renewDeadline, "leader-elect-renew-deadline", 10*time.Second,
		"how long a leader tries to renew its lease before it stops")
	flags.DurationVar(&o.retryPeriod, "leader-elect-retry-period", 2*time.Second, "how often the lease is tried")
}

// elector takes part in the election for the lease of name: lead is called with a context that ends
// when the lease does.
func (o electionOptions) elector(
	cfg *rest.Config, name string, lead func(context.Context), follow func(holder string),
) (*leaderelection.LeaderElector, error) {
	clients, err := kubernetes.NewForConfig(rest.AddUserAgent(cfg, "leader-election"))
	if err != nil {
		return nil, fmt.Errorf("make a client for the lease: %w", err)
	}
	identity, err := processIdentity()
	if err != nil {
		return nil, err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, o.namespace, name, clients.CoreV1(),
		clients.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
	if err != nil {
		return nil, fmt.Errorf("lease %s/%s: %w", o.namespace, name, err)
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		Name:            name,
		LeaseDuration:   o.leaseDuration,
		RenewDeadline:   o.renewDeadline,
		RetryPeriod:     o.retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: lead,
			OnStoppedLeading: func() {},
			OnNewLeader: func(holder string) {
				if holder != identity {
					follow(holder)
				}
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("lease %s/%s: %w", o.namespace, name, err)
	}
	return elector, nil
}

// processIdentity returns a name that is unique to this process, also on one machine.
func processIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name of this machine: %w", err)
	}
	return host + "_" + uuid.NewString(), nil
}
