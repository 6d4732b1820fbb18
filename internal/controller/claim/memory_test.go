package claim

import "testing"

// TestNothingIsRememberedOfTheDead: what is kept in mind of an object goes with it.
func TestNothingIsRememberedOfTheDead(t *testing.T) {
	w := newWorld()
	w.claims.held = true
	w.put(parse(t, "template x\npod p claims=a:template/x,b:template/absent\ngroup g protected claims=s:template/absent"))
	w.work()
	c := w.controller
	if len(c.pending.byOwner) != 1 || len(c.waiting.byTemplate) != 1 || len(c.reported.last) != 2 {
		t.Fatalf("made %v, waiting %v, said %v", c.pending.byOwner, c.waiting.byTemplate, c.reported.last)
	}
	w.pods.remove(w.pods.live["default/p"])
	w.groups.remove(w.groups.live["default/g"])
	w.work()
	if len(c.pending.byOwner) != 0 || len(c.waiting.byTemplate) != 0 || len(c.reported.last) != 0 {
		t.Errorf("made %v, waiting %v, said %v", c.pending.byOwner, c.waiting.byTemplate, c.reported.last)
	}
}
