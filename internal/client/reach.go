package client

import (
	"context"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// lookAgain is how often a cache looks for an API server of which nobody answers, a second or two apart. Client-go's reflectors
// look less and less often: after an outage of 15 seconds they find it up to a minute late, and pods wait for that.
const lookAgain = time.Second

// reach asks the server, and goes on asking while there is none. Whatever a server answers is the answer: one that is
// overloaded is left to the reflector's own pauses.
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
