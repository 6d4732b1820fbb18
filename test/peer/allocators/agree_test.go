package allocators

import (
	"strings"
	"testing"
	"time"
)

const quick = 2000

// Both answer alike, but for the differences that are intended (R28).
func TestAgree(t *testing.T) {
	tally := Agree(1, quick)
	var text strings.Builder
	tally.Print(&text)
	t.Log("\n" + text.String())
	if n := tally.Unexplained(); n > 0 {
		t.Errorf("%d answers differ without a reason", n)
	}
	if n := tally.Count(BothYes); n < quick/5 {
		t.Errorf("both allocate in %d worlds, which is too few to show anything", n)
	}
	for _, f := range Every {
		if tally.counts[f][BothYes] == 0 {
			t.Errorf("both allocate in no world with %s", f)
		}
	}
}

// The same seed and number make the same world.
func TestWorldsRepeat(t *testing.T) {
	for number := range uint64(50) {
		first, second := New(7, number), New(7, number)
		if first.String() != second.String() {
			t.Fatalf("world %d differs from itself", number)
		}
	}
	if New(7, 1).String() == New(8, 1).String() {
		t.Error("the seed makes no difference")
	}
}

// What is found here is really put to upstream: with a device that somebody else holds, it is
// refused.
func TestWrongAllocationsAreRefused(t *testing.T) {
	refused := 0
	for number := range uint64(300) {
		w := New(1, number)
		if w.Has(Admin) || w.Has(Shares) || len(w.Claims) == 0 || Compare(w, time.Second).Outcome != BothYes {
			continue
		}
		results := ask(w).results()
		if err := w.accepts(results); err != nil {
			t.Fatalf("world %d: %v", number, err)
		}
		given := results[0].Devices.Results[0]
		w.holdBy(given.Pool, given.Device).Driver = given.Driver
		if w.accepts(results) == nil {
			t.Errorf("world %d: a device that is held was accepted", number)
		}
		refused++
	}
	if refused == 0 {
		t.Error("found no world to try")
	}
}
