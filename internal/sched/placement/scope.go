package placement

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// scope is the unit of a placement, and what the placement may use.
type scope struct {
	*Caches
	unit        *model.Unit
	restriction []*model.NodeInfo // restricts the placement to these nodes; nil means all
	domain      string            // describes them
	parts       []Part
	// partOf is the index of the part of each pod that has one.
	partOf map[model.Key]int
	// offerBudget limits the steps spent to find out whether nodes offer enough devices.
	offerBudget *alloc.Budget
}

func newScope(caches *Caches, unit *model.Unit, options Options) scope {
	s := scope{
		Caches: caches, unit: unit, restriction: options.Only, domain: options.Where,
		offerBudget: &alloc.Budget{Limit: options.Steps},
	}
	if s.parts = options.Parts; len(s.parts) == 0 {
		return s
	}
	s.partOf = map[model.Key]int{}
	for i, part := range s.parts {
		for _, pod := range part.Pods {
			s.partOf[pod.Key] = i
		}
	}
	return s
}

// nodesFor returns the nodes to which a pod is restricted; nil means all.
func (s *scope) nodesFor(pod *model.Pod) []*model.NodeInfo {
	if part, ok := s.partOf[pod.Key]; ok {
		return s.parts[part].Nodes
	}
	return s.restriction
}

// prefersPacking reports whether the unit's pods are placed close together, not spread.
func (s *scope) prefersPacking() bool { return s.unit.Min > 1 }

// topologyKey returns the node label by which the group's pods must be in one domain, or "".
func (s *scope) topologyKey() string {
	if s.unit.Group == nil {
		return ""
	}
	return s.unit.Group.Topology
}
