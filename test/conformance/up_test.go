package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/allot-dev/allot/internal/app"
	"github.com/allot-dev/allot/internal/fleet"
)

// TestUp makes the statements about a control plane of our own, in both forms in which it knows
// PodGroups.
func TestUp(t *testing.T) {
	machines, err := fleet.Parse([]byte(Fleet))
	if err != nil {
		t.Fatal(err)
	}
	instance, err := app.Start(t.Context(),
		app.Options{DataDir: t.TempDir(), Listen: "127.0.0.1:0", UnsafeNoFsync: true, Fleet: machines})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := instance.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	for _, spelling := range []Spelling{Named, Matched} {
		t.Run(string(spelling), func(t *testing.T) {
			Run(t, Target{Config: instance.Server.Loopback(), Spelling: spelling})
		})
	}
}
