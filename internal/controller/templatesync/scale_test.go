package templatesync

import (
	"fmt"
	"strings"
	"testing"
)

// TestThousandNamespacesWithTwentyTemplates: a change of one of twenty originals costs what it
// would cost if there were no others, and what is in step costs nothing, also after a restart. At
// 50 requests a second these are 40 s for a change, and 20 s for a new original.
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

// catchUp lets the caches follow once: to follow after each look takes too long in a world of this
// size.
func (w *world) catchUp() {
	w.lags = false
	w.follow()
	w.lags = true
}
