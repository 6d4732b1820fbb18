package crash

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// forest is the CompositePodGroups and PodGroups by the names of their parents, with the number of
// pods of each PodGroup that are on nodes.
type forest struct {
	composites map[string][]*v1alpha3.CompositePodGroup // the roots have the parent ""
	groups     map[string][]*scheduling.PodGroup
	members    map[string]int
}

func (s *stage) forest(members map[string]int) forest {
	f := forest{map[string][]*v1alpha3.CompositePodGroup{}, map[string][]*scheduling.PodGroup{}, members}
	for _, object := range s.server.Objects(compositeKind) {
		composite := object.(*v1alpha3.CompositePodGroup)
		parent := deref(composite.Spec.ParentCompositePodGroupName)
		f.composites[parent] = append(f.composites[parent], composite)
	}
	for _, object := range s.server.Objects(groupKind) {
		group := object.(*scheduling.PodGroup)
		parent := deref(group.Spec.ParentCompositePodGroupName)
		f.groups[parent] = append(f.groups[parent], group)
	}
	return f
}

// wholeTrees checks that each tree that was never scheduled is on nodes as a whole or not at all.
func (s *stage) wholeTrees(members map[string]int) {
	s.Helper()
	f := s.forest(members)
	for _, root := range f.composites[""] {
		if meta.IsStatusConditionTrue(root.Status.Conditions, scheduling.CompositePodGroupInitiallyScheduled) {
			continue // it may lose children, and continues
		}
		if pods, whole := f.assess(root); pods > 0 && !whole {
			s.Errorf("%d pods of the tree %s are on nodes, and others are not", pods, root.Name)
		}
	}
}

// assess returns how many pods of a tree are on nodes, and whether these are enough at each level.
func (f forest) assess(composite *v1alpha3.CompositePodGroup) (pods int, whole bool) {
	scheduled := 0
	for _, child := range f.composites[composite.Name] {
		n, enough := f.assess(child)
		pods += n
		if enough {
			scheduled++
		}
	}
	for _, group := range f.groups[composite.Name] {
		n, wanted := f.members[group.Name], 1
		if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
			wanted = int(gang.MinCount)
		}
		pods += n
		if n >= wanted {
			scheduled++
		}
	}
	wanted := 1
	if gang := composite.Spec.SchedulingPolicy.Gang; gang != nil {
		wanted = int(gang.MinGroupCount)
	}
	return pods, scheduled >= wanted
}
