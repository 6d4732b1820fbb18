package claim

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
)

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

// R16: a consumer without a watch is checked once a minute. A check that failed does not count.
func TestFailedCheckOfAConsumerIsRepeated(t *testing.T) {
	w := newWorld()
	ref := resourcev1.ResourceClaimConsumerReference{APIGroup: "example.com", Resource: "racks", Name: "r", UID: "r"}
	w.lost = 1
	if gone, err := w.controller.foreignGone(t.Context(), "default", ref); gone || err == nil {
		t.Fatalf("without an answer: gone %t, error %v", gone, err)
	}
	if gone, err := w.controller.foreignGone(t.Context(), "default", ref); gone || err != nil {
		t.Fatalf("while it exists: gone %t, error %v", gone, err)
	}
	w.foreignGone[ref.UID] = true
	if gone, err := w.controller.foreignGone(t.Context(), "default", ref); gone || err != nil {
		t.Errorf("within a minute: gone %t, error %v, want no second check", gone, err)
	}
}
