package allocators

import (
	"testing"
	"time"
)

// BenchmarkHere measures the cases of speed on this side alone, for profiles.
func BenchmarkHere(b *testing.B) {
	for _, c := range Cases() {
		b.Run(c.Name, func(b *testing.B) {
			attempt := opHere(c, c.Build())
			attempt(0)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				attempt(i)
			}
		})
	}
}

// Every case gets the right answer here, and a "no" on one node is quick (F42).
func TestCasesAnswer(t *testing.T) {
	for _, c := range Cases() {
		if c.Cold || c.Sweep {
			continue // they take seconds to build, and say nothing new about the answer
		}
		t.Run(c.Name, func(t *testing.T) {
			attempt := opHere(c, c.Build())
			best := time.Hour
			for i := range 4 {
				cost := timed(attempt, i)
				if cost.Err != nil || cost.Yes != c.Want {
					t.Fatalf("yes: %v, %v", cost.Yes, cost.Err)
				}
				best = min(best, cost.Time)
			}
			if !c.Want && best > 10*time.Millisecond {
				t.Errorf("no takes %s", best)
			}
		})
	}
}
