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
	shared  uint64 // DeviceStore.SharedVersion, if devices count
}

// keptKey is equal for classes whose candidates are the same, but for their company.
type keptKey struct {
	shape   string
	images  string
	devices string // see alloc.Problem.CountedBy
	packs   bool
}

const maxKept = 64 // rankings; beyond, all are forgotten and made anew. Each takes about 60 bytes a node.

// key says which ranking is that of the class. It answers false if more matters than what each node has left.
func (l *look) key() (keptKey, bool) {
	j, c := l.job, l.class
	key := keptKey{shape: c.fitter.Shape.ID, packs: l.packs}
	if l.shared != nil || j.only != nil || c.extended != nil || len(c.given)+len(c.mounts)+len(c.pins) > 0 || !c.scorer.indifferent(j.state) {
		return key, false
	}
	if l.images != nil {
		key.images = l.images.key
	}
	if c.plain.problem != nil {
		key.devices = c.plain.problem.CountKey()
		return key, key.devices != ""
	}
	return key, true
}

// indifferent says whether neither the pod's author nor any other pod minds where it is.
func (f *scorer) indifferent(state *model.State) bool {
	return !f.wishes(state) && !f.DependsOnPods(state)
}

// keep is the ranking of the nodes that suit the class; nil if there is none, or not yet: a shape of one pod alone is not worth it.
func (p *Placer) keep(key keptKey, l *look) *ranking {
	suited := l.job.suited(l.class)
	if again := suited.again(); !again || suited.wary {
		return nil
	}
	k := p.kept[key]
	if k == nil {
		if len(p.kept) >= maxKept {
			clear(p.kept)
		}
		k = &kept{}
		p.kept[key] = k
	}
	if !k.update(l, suited) {
		k.of = nil // to start anew
		return nil
	}
	k.mingle(l.job.company(l.class), p.state.Nodes.Zones())
	k.settle()
	return &k.ranking
}

// again says whether candidates are not asked for the first time.
func (s *suited) again() bool {
	before := s.asked
	s.asked = true
	return before
}

// update looks again at the nodes that have changed. It answers false if one is found where it does not help to count devices.
func (k *kept) update(l *look, suited *suited) bool {
	state := l.job.state
	shared := uint64(0)
	if l.class.wantsDevices() {
		shared = state.Devices.SharedVersion()
	}
	changes := k.changes
	k.changes = state.Nodes.Changes()
	if k.of != suited || k.images != l.images || k.shared != shared {
		k.of, k.images, k.shared = suited, l.images, shared
		return k.start(l)
	}
	k.restart()
	for info := range state.Nodes.ChangedSince(changes) {
		if at, ok := k.find(info); ok {
			candidate, ok := l.counted(info)
			if !ok {
				return false
			}
			k.change(at, candidate)
		}
	}
	return true
}

func (k *kept) start(l *look) bool {
	k.list = slices.Grow(k.list[:0], len(k.of.nodes))
	for _, info := range k.of.nodes {
		candidate, ok := l.counted(info)
		if !ok {
			return false
		}
		k.list = append(k.list, candidate)
	}
	k.reset(k.list)
	return true
}

// counted is the node as a candidate, if counting tells what devices can be had there.
func (l *look) counted(info *model.NodeInfo) (candidate, bool) {
	if problem := l.class.plain.problem; problem != nil {
		if _, ok := problem.CountFree(info); !ok {
			return candidate{}, false
		}
	}
	candidate, _ := l.at(info)
	return candidate, true
}
