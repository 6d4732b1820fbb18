package features

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScenarios parses feature gates as the flag does: each "set" begins with the defaults, and
// "then" continues.
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

// TestEveryGateHasAName checks that names are unique, and that the dependencies of gates have no
// cycle.
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
