package claim

import (
	"testing"

	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// P36: what is to be recorded and generated goes before what is to be released, however much that
// is.
func TestReleasesWaitInTheBackground(t *testing.T) {
	w := newWorld()
	w.put(parse(t, "pod lacks claims=a:template/t\nclaim freed allocated finalizer"))
	for key, want := range map[Key]reconciler.Lane{
		{Pod, "default", "lacks"}:      reconciler.Fast,
		{Pod, "default", "has"}:        reconciler.Slow,
		{PodGroup, "default", "group"}: reconciler.Slow,
		{Claim, "default", "freed"}:    reconciler.Background,
	} {
		if got := w.controller.lane(key); got != want {
			t.Errorf("%s waits in lane %d, want %d", key, got, want)
		}
	}
}
