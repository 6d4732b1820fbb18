package app

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

const (
	// probeEvery is the interval at which a working part probes its API server, and the time limit
	// of a probe.
	probeEvery = 3 * time.Second
	// lostAfter is the number of consecutive failed probes after which the server counts as lost. A
	// single one may fail by chance.
	lostAfter = 2
)

// reachability records whether the API server can be reached.
type reachability struct {
	failures int
}

// record records the result of one probe. It reports whether the server is lost or found by it.
func (r *reachability) record(err error) (lost, found bool) {
	if err == nil {
		found = r.failures >= lostAfter
		r.failures = 0
		return false, found
	}
	r.failures++
	return r.failures == lostAfter, false
}

// watchServer makes the process unready while the API server cannot be reached, and prints that
// once.
func (p *process) watchServer(ctx context.Context) error {
	return watchReach(ctx, p.cfg, func(err error) {
		p.health.setUnreachable(err)
		p.progress.Line("the API server cannot be reached: %v; trying on", err)
	}, func() {
		p.health.setReachable()
		p.progress.Line("the API server is reached again")
	})
}

// watchReach calls lost when the API server cannot be reached any more, and found when it is reached
// again, until ctx ends.
func watchReach(ctx context.Context, cfg *rest.Config, lost func(error), found func()) error {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = probeEvery
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	var r reachability
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := unreachableError(client.RESTClient().Get().AbsPath("/version").Do(ctx).Error())
		if ctx.Err() != nil {
			return nil
		}
		switch isLost, isFound := r.record(err); {
		case isLost:
			lost(err)
		case isFound:
			found()
		}
	}
}

// unreachableError returns the error of a request if it shows that the server cannot be reached. A server
// that refuses a request can be reached.
func unreachableError(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) ||
		apierrors.IsTooManyRequests(err) {
		return nil
	}
	return err
}
