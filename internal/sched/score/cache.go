package score

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

const (
	maxImages   = 4096 // sets of images; beyond, all are forgotten
	maxRankings = 64   // beyond, all are forgotten; a ranking takes about 60 bytes a node
)

// Cache makes rankings and keeps those that can be brought up to date by looking at the nodes that
// have changed.
type Cache struct {
	state    *model.State
	rankings map[key]*cachedRanking
	images   map[string]*images
	scratch  Ranking                                 // ranking of an input that is not kept
	perNode  []func(*Input, *model.NodeInfo) float64 // scores per node of the last input
}

// NewCache returns an empty Cache.
func NewCache(state *model.State) *Cache {
	return &Cache{state: state, rankings: map[key]*cachedRanking{}, images: map[string]*images{}}
}

// key is equal for inputs with the same scores, except those that are set for each unit.
type key struct {
	shape string
	parts [keyed]string
}

// key returns false if a score depends on more than what each node itself has, so that the ranking
// cannot be kept.
func (in *Input) key() (key, bool) {
	k := key{shape: in.Shape.Fitter.Shape.ID}
	for i := range preferences {
		p := &preferences[i]
		if p.applies != nil && !p.applies(in) {
			continue
		}
		for _, d := range p.dependsOn {
			part, ok := d.keyPart(in)
			if !ok {
				return k, false
			}
			if d < keyed {
				k.parts[d] = part
			}
		}
	}
	return k, !in.Shape.DependsOnPods(in.State)
}

// cachedRanking is a ranking of the nodes that are suitable for a shape.
type cachedRanking struct {
	Ranking
	set     *nodefit.NodeSet
	images  *images
	changes uint64 // NodeStore.Changes
	shared  uint64 // DeviceStore.SharedVersion, if devices count
}

// Rank returns the nodes that can take a pod, best first. The ranking is valid until the next call.
// It has no nodes if a device makes the allocation fail.
func (c *Cache) Rank(in *Input, nodes []*model.NodeInfo, e Examiner) *Ranking {
	c.prepare(in, false)
	r := &c.scratch
	list := slices.Grow(r.list[:0], len(nodes))
	for _, info := range nodes {
		candidate, failed := in.examine(e, info)
		if failed {
			return &Ranking{}
		}
		if !candidate.Excluded {
			in.taints = in.taints || len(info.Node.Taints) > 0
			list = append(list, candidate)
		}
	}
	in.scoreAuthor(list)
	r.reset(list)
	in.scoreUnit(r)
	return r
}

// RankAll is Rank for all nodes that are suitable for the shape. It returns nil if that ranking
// cannot be kept, or is not worth it yet: nothing is kept the first time a shape is seen.
func (c *Cache) RankAll(in *Input, set *nodefit.NodeSet, e Examiner) *Ranking {
	c.prepare(in, set.HasSoftTaints)
	key, ok := in.key()
	if !ok || !set.SeenBefore() {
		return nil
	}
	k := c.rankings[key]
	if k == nil {
		if len(c.rankings) >= maxRankings {
			clear(c.rankings)
		}
		k = &cachedRanking{}
		c.rankings[key] = k
	}
	if !k.update(in, set, e) {
		k.set = nil // the next one starts again
		return nil
	}
	in.scoreUnit(&k.Ranking)
	return &k.Ranking
}

// update examines the nodes that have changed. It returns false if devices of a node cannot be
// counted.
func (r *cachedRanking) update(in *Input, set *nodefit.NodeSet, e Examiner) bool {
	shared := uint64(0)
	if in.Devices {
		shared = in.State.Devices.SharedVersion()
	}
	changes := r.changes
	r.changes = in.State.Nodes.Changes()
	if r.set != set || r.images != in.images || r.shared != shared {
		r.set, r.images, r.shared = set, in.images, shared
		return r.start(in, e)
	}
	r.restart()
	for info := range in.State.Nodes.ChangedSince(changes) {
		if at, ok := r.find(info); ok {
			if !e.IsCounted(info) {
				return false
			}
			candidate, _ := in.examine(e, info)
			r.change(at, candidate)
		}
	}
	return true
}

func (r *cachedRanking) start(in *Input, e Examiner) bool {
	r.list = slices.Grow(r.list[:0], len(r.set.Nodes))
	for _, info := range r.set.Nodes {
		if !e.IsCounted(info) {
			return false
		}
		candidate, _ := in.examine(e, info)
		r.list = append(r.list, candidate)
	}
	r.reset(r.list)
	return true
}
