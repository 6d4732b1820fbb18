package placement

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// affinityGroup is a set of classes that required pod affinity keeps in one domain of a label.
type affinityGroup struct {
	term    *model.Term
	classes []*podClass
}

// affinityGroups returns the members that require affinity for each other that no other pod
// satisfies: no running pod, and no member that could be in a different domain itself. Single pods
// follow the first of them wherever it is.
func (in *input) affinityGroups() []affinityGroup {
	if !in.prefersPacking() || !in.state.Terms.Any() {
		return nil
	}
	var list []affinityGroup
	known := map[string]int{}
	for _, c := range in.classes {
		if !c.fitter.MatchesItself(in.state) {
			continue
		}
		for _, term := range c.fitter.Shape.Terms.Affinity {
			if _, everywhere := in.state.Terms.Picked(term, ""); everywhere > 0 {
				continue
			}
			at, ok := known[term.ID]
			if !ok {
				at = len(list)
				known[term.ID] = at
				list = append(list, affinityGroup{term: term})
			}
			list[at].classes = append(list[at].classes, c)
		}
	}
	return slices.DeleteFunc(list, in.isSatisfiedByOthers)
}

// isSatisfiedByOthers reports whether members outside the affinity group satisfy its affinity.
func (in *input) isSatisfiedByOthers(a affinityGroup) bool {
	return slices.ContainsFunc(in.classes, func(c *podClass) bool {
		shape := c.fitter.Shape
		return !slices.Contains(a.classes, c) && a.term.Matches(shape, in.state.Namespaces.Labels(shape.Namespace))
	})
}
