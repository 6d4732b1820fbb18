package gather

import (
	"context"
	"time"

	"github.com/allot-dev/allot/internal/snapshot"
)

// Follow takes a Snapshot and keeps it up to date by watches. It calls changed with the Snapshot,
// and again after changes, until that returns an error or ctx ends.
func (g *Gatherer) Follow(ctx context.Context, now func() time.Time, changed func(*snapshot.Snapshot) error) error {
	return g.Watch(ctx, now, &follower{changed: changed})
}

// follower is an Observer that keeps a Snapshot up to date.
type follower struct {
	snap    *snapshot.Snapshot
	changed func(*snapshot.Snapshot) error
}

func (f *follower) Begin(snap *snapshot.Snapshot) error {
	f.snap = snap
	return f.changed(snap)
}

func (f *follower) Change(batch Batch) error {
	batch.Apply(f.snap)
	return f.changed(f.snap)
}
