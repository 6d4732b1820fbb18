package node

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/clock"
)

// renewals is a server that fails for a while.
type renewals struct {
	at      []time.Duration
	begun   time.Time
	failing func(time.Duration) bool
}

func (r *renewals) RenewLease(_ context.Context, lease *coordinationv1.Lease) error {
	since := lease.Spec.RenewTime.Sub(r.begun)
	if r.failing(since) {
		return errors.New("no answer")
	}
	r.at = append(r.at, since)
	return nil
}

// The lease of a fleet is renewed every 10 s, and within a second after the server is back.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &renewals{
			begun:   time.Now(),
			failing: func(d time.Duration) bool { return d > 15*time.Second && d < 45500*time.Millisecond },
		}
		ctx, cancel := context.WithCancel(context.Background())
		h := &heartbeat{fleet: "f", write: server, clock: clock.RealClock{}, duration: DefaultLeaseDuration}
		done := make(chan struct{})
		go func() { h.run(ctx); close(done) }()
		time.Sleep(time.Minute)
		cancel()
		<-done
		want := []time.Duration{0, 10 * time.Second, 46 * time.Second, 56 * time.Second}
		if len(server.at) != len(want) {
			t.Fatalf("renewed at %v, want %v", server.at, want)
		}
		for i := range want {
			if server.at[i] != want[i] {
				t.Errorf("renewed at %v, want %v", server.at, want)
			}
		}
	})
}
