package scheduler

import (
	"context"
	"errors"
	"testing"

	"k8s.io/client-go/util/flowcontrol"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
)

// Run places what there is, beside the goroutines that write, and ends with all of them.
func TestRun(t *testing.T) {
	server := newServer(t)
	server.addNode("n1", 4, 1)
	server.addClaim("c", 1)
	server.addGang("g", 2, "c")
	server.addMembers("g", 2, ofGroup("c"))
	x := start(t, server)
	x.see(100)
	x.s.runConcurrently = x.s.running.Go
	x.s.ready = func(context.Context) error { return nil }
	stopped := false
	x.s.workers = []func(context.Context) error{func(ctx context.Context) error {
		<-ctx.Done()
		stopped = true
		return nil
	}}
	binds := make(chan string, 2)
	x.link.refuse = func(write string) error {
		if count([]string{write}, "bind") > 0 {
			binds <- write
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- x.s.Run(ctx) }()
	<-binds
	<-binds
	cancel()
	if err := <-done; err != nil || !stopped {
		t.Errorf("err = %v, workers stopped: %v", err, stopped)
	}
	if got := server.bound("g"); len(got) != 2 {
		t.Errorf("bound %v", got)
	}
}

func TestRunWithoutCaches(t *testing.T) {
	x := start(t, newServer(t))
	stopped := errors.New("stopped")
	x.s.ready = func(context.Context) error { return stopped }
	if err := x.s.Run(t.Context()); !errors.Is(err, stopped) {
		t.Errorf("err = %v", err)
	}
}

// counter counts who asks to be let through.
type counter struct {
	flowcontrol.RateLimiter
	asked int
}

func (c *counter) Wait(context.Context) error {
	c.asked++
	return nil
}

// Each report to a pod asks the limiter, and no report is made to a pod that has got a node, or is
// gone.
func TestReportsAreLimited(t *testing.T) {
	s := newServer(t)
	s.addMembers("missing", 100)
	x := start(t, s)
	limiter := &counter{}
	x.s.status.pods.limiter = limiter
	x.see(1000)
	for x.step() {
	}
	s.editPod("missing-7", func(pod *core.Pod) { pod.Spec.NodeName = "n1" })
	s.deletePod("missing-8")
	x.see(1000)
	x.clock.Step(settleReason)
	for x.status() {
	}
	if got := count(x.link.writes, "tell"); got != 98 || limiter.asked != 98 {
		t.Errorf("%d reports, %d let through", got, limiter.asked)
	}
	// A report that could not be written is made later, unless there is news.
	x.link.refuse = refuse("tell missing-1")
	x.s.status.pods.setVerdict(model.Key{Namespace: ns, Name: "missing-1"},
		podVerdict{uid: s.pod("missing-1").UID, reason: "Unschedulable", message: "old"})
	x.clock.Step(settleReason)
	x.status()
	x.s.status.pods.setVerdict(model.Key{Namespace: ns, Name: "missing-1"},
		podVerdict{uid: s.pod("missing-1").UID, reason: "Unschedulable", message: "new"})
	x.link.refuse = nil
	x.clock.Step(settleReason)
	x.status()
	if got := s.message("missing-1"); got != "Unschedulable: new" {
		t.Errorf("told %q", got)
	}
}
