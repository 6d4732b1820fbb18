package placement

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/score"
)

// Caches hold what placements on one State have computed about nodes and device sets.
type Caches struct {
	state *model.State
	alloc *alloc.Allocator
	fits  *nodefit.Cache
	ranks *score.Cache
}

// NewCaches returns empty Caches of a State.
func NewCaches(state *model.State, allocator *alloc.Allocator) *Caches {
	return &Caches{
		state: state, alloc: allocator, fits: nodefit.NewCache(state), ranks: score.NewCache(state),
	}
}
