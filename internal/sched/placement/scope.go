package placement

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// scope is the unit of a placement, and what the placement may use.
type scope struct {
	*Caches
	unit *model.Unit
	only []*model.NodeInfo // restricts the placement to these nodes; nil means all
	// offerBudget limits the steps spent to find out whether nodes offer enough devices.
	offerBudget *alloc.Budget
}

func newScope(caches *Caches, unit *model.Unit, options Options) scope {
	return scope{
		Caches: caches, unit: unit, only: options.Only, offerBudget: &alloc.Budget{Limit: options.Steps},
	}
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
