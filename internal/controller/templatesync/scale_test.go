package templatesync

import (
	"fmt"
	"strings"
	"testing"
)

// TestThousandNamespacesWithTwentyTemplates checks that the cost of changing one of twenty
// originals does not depend on the others, and that copies that are up to date cost nothing, also
// after a restart. At 50 requests a second, a change takes 40 s, and a new original 20 s.
func TestThousandNamespacesWithTwentyTemplates(t *testing.T) {
	const namespaces, originals = 1000, 20
	w := newWorld()
	for i := range namespaces {
		w.put([]string{"namespace", fmt.Sprintf("n%03d", i)})
	}
	for i := range originals {
		w.put([]string{"original", fmt.Sprintf("o%02d", i), "content=old"})
	}
	requests := func(what string, want int) {
		t.Helper()
		w.catchUp()
		w.work()
		got := 0
		for line := range strings.Lines(w.flush()) {
			if !strings.HasPrefix(line, "event ") && line != "nothing\n" {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d requests, want %d", what, got, want)
		}
	}
	requests("at first", namespaces*originals)
	requests("in step", 0)
	w.put([]string{"original", "o07", "content=new"})
	requests("after a change of one", 2*namespaces+1) // the dry run
	requests("in step again", 0)
	w.put([]string{"namespace", "late"})
	requests("a new namespace", originals)
	w.catchUp()
	w.restart()
	requests("after a restart", 0)
	w.catchUp()
	for name, o := range w.originals {
		if s := o.Status; s.Wanted != namespaces+1 || s.InStep != namespaces+1 || s.Conflicting != 0 {
			t.Errorf("%s: %d wanted, %d in step, %d in conflict", name, s.Wanted, s.InStep, s.Conflicting)
		}
	}
}

// catchUp makes the caches follow once: following after each pass takes too long in a world of this
// size.
func (w *world) catchUp() {
	w.lags = false
	w.follow()
	w.lags = true
}
