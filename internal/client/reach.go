package client

import (
	"context"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// lookAgain is the interval at which a cache looks for an unreachable API server, up to a second or
// two. The reflectors of client-go back off exponentially: after an outage of 15 seconds they
// reconnect up to a minute late.
const lookAgain = time.Second

// reach calls ask until a server answers. Any answer ends it: for an overloaded server, the
// reflector backs off.
func reach[R any](ctx context.Context, what string, ask func() (R, error)) (R, error) {
	for first := true; ; first = false {
		answer, err := ask()
		if !utilnet.IsConnectionRefused(err) {
			return answer, err
		}
		if first {
			klog.InfoS("The API server does not answer; looking for it until it does", "for", what, "err", err)
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(wait.Jitter(lookAgain, 1)):
		}
	}
}
