package claim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGenerationIsTimed: R44 counts from the moment at which a claim could have been made.
func TestGenerationIsTimed(t *testing.T) {
	w := newWorld()
	pass := func(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }
	put := func(text string) { w.put(parse(t, text)) }
	put(
		"template x\npod p uid=1 claims=a:template/x\npod late uid=2 claims=a:template/y\ngroup g uid=3 protected claims=s:template/x",
	)
	pass(2 * time.Second)
	w.work()
	pass(time.Minute) // waiting for a template is not generating
	put("template y")
	pass(time.Second)
	w.work()
	want := []string{"podgroup after 2s", "pod after 2s", "pod after 1s"}
	if diff := cmp.Diff(want, w.generated); diff != "" {
		t.Errorf("generated (-want +got):\n%s", diff)
	}
}
