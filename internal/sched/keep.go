package sched

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// Where nothing matters but what a node itself has left, only those are looked at again that have changed since the last
// unit with pods of the shape: with thousands of nodes and units of a few pods, that is nearly all the work.

// kept is a ranking that is brought up to date instead of made anew.
type kept struct {
	ranking
	of      *suited
	images  *locality
	changes uint64 // State.Changes
}

type keptKey struct {
	shape  string
	images string
	packs  bool
}

const maxKept = 64 // rankings; beyond, all are forgotten and made anew. Each takes about 60 bytes a node.

// lasts says whether the nodes can be ranked by what each has left, whatever else changes.
func (l *look) lasts() bool {
	j, c := l.job, l.class
	return l.shared == nil && j.only == nil &&
		!c.wantsDevices() && len(c.given)+len(c.mounts)+len(c.pins) == 0 &&
		c.fitter.indifferent(j.state)
}

// indifferent says whether neither the pod's author nor any other pod minds where it is.
func (f *fitter) indifferent(state *model.State) bool {
	return !f.wishes(state) && !f.heeds(state)
}

// again says whether candidates are not asked for the first time: a shape of one pod alone is not worth keeping anything.
func (s *suited) again() bool {
	before := s.asked
	s.asked = true
	return before
}

// keep is the ranking of the nodes that suit the class.
func (p *Placer) keep(l *look, suited *suited) *ranking {
	key := keptKey{shape: l.class.fitter.shape.ID, packs: l.packs}
	if l.images != nil {
		key.images = l.images.key
	}
	k := p.kept[key]
	if k == nil {
		if len(p.kept) >= maxKept {
			clear(p.kept)
		}
		k = &kept{}
		p.kept[key] = k
	}
	if k.of == suited && k.images == l.images {
		k.restart()
		for info := range p.state.ChangedSince(k.changes) {
			if at, ok := k.find(info); ok {
				candidate, _ := l.at(info)
				k.change(at, candidate)
			}
		}
	} else {
		k.of, k.images = suited, l.images
		list := slices.Grow(k.list[:0], len(suited.nodes))
		for _, info := range suited.nodes {
			candidate, _ := l.at(info)
			list = append(list, candidate)
		}
		k.reset(list)
	}
	k.changes = p.state.Changes()
	k.mingle(l.job.company(l.class), p.state.Zones())
	k.settle()
	return &k.ranking
}
