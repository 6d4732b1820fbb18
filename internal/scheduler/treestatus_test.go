package scheduler

import (
	"testing"

	"github.com/allot-dev/allot/internal/model"
)

// TestTreeOutcome: the condition of a CompositePodGroup counts the children that the API shows as
// scheduled, and says what the others lack.
func TestTreeOutcome(t *testing.T) {
	leaf := func(name string, scheduled bool, problem string) *model.Tree {
		group := &model.Group{Key: model.Key{Namespace: "default", Name: name}}
		group.Scheduled = scheduled
		return &model.Tree{Group: group, Problem: problem}
	}
	composite := func(least int, children ...*model.Tree) *model.Tree {
		key := model.Key{Namespace: "default", Name: "c"}
		return &model.Tree{Composite: &model.Composite{Key: key, MinGroups: least}, Children: children}
	}
	for _, test := range []struct {
		name      string
		tree      *model.Tree
		scheduled bool
		message   string
	}{
		{"none", composite(2, leaf("a", false, ""), leaf("b", false, "PodGroup default/b: 3 of 4 pods exist")), false,
			"0 of 2 groups are scheduled (PodGroup a is not scheduled; PodGroup default/b: 3 of 4 pods exist)"},
		{"some", composite(2, leaf("a", true, ""), composite(1, leaf("b", false, ""))), false,
			"1 of 2 groups are scheduled (CompositePodGroup c is not scheduled)"},
		{"all", composite(2, leaf("a", true, ""), composite(1, leaf("b", true, ""))), true, "2 of 2 groups are scheduled"},
		{"more", composite(1, leaf("a", true, ""), leaf("b", true, "")), true, "2 groups are scheduled (minGroupCount 1)"},
		{"many", composite(5, leaf("a", false, ""), leaf("b", false, ""), leaf("c", false, ""), leaf("d", false, ""), leaf("e", false, "")), false,
			"0 of 5 groups are scheduled (PodGroup a is not scheduled; PodGroup b is not scheduled; PodGroup c is not scheduled; 2 more)"},
		{"no children", composite(1), false, "0 of 1 groups are scheduled"},
	} {
		if got := outcomeOf(test.tree); got.Scheduled != test.scheduled || got.Message != test.message {
			t.Errorf("%s: %v %q, want %v %q", test.name, got.Scheduled, got.Message, test.scheduled, test.message)
		}
	}
}
