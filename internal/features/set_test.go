package features

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScenarios switches features as the flag does: each "set" begins anew, "then" goes on.
func TestScenarios(t *testing.T) {
	datadriven.RunTest(t, "testdata/set", func(t *testing.T, d *datadriven.TestData) string {
		var s Set
		for line := range strings.SplitSeq(d.Input, "\n") {
			if err := s.Set(line); err != nil {
				return "error: " + err.Error() + "\n"
			}
		}
		if s == (Set{}) {
			return "all on\n"
		}
		return s.String() + "\n"
	})
}

// TestEveryGateHasAName: names are unique, and what a gate needs comes before or after without a
// circle.
func TestEveryGateHasAName(t *testing.T) {
	seen := map[string]bool{}
	for g := range gates {
		d := describe(g)
		for _, name := range []string{d.name, d.alias} {
			if name != "" && seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		if d.name == "" || d.stage == "" {
			t.Errorf("gate %d is not described", g)
		}
		if (Set{}).Without(g).On(g) {
			t.Errorf("%s cannot be off", d.name)
		}
	}
}
