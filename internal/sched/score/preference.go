package score

import "github.com/allot-dev/allot/internal/model"

// level orders the preferences: one of an earlier level is never outweighed by those of later ones.
type level int

const (
	levelAuthor   level = iota // what the author of the pod prefers: a weighted sum
	levelDevices               // packing of devices
	levelSiblings              // default spread
	levelUse                   // the sum of load and images
	levels
)

// dependency is something that a score depends on.
type dependency int

const (
	onDevices    dependency = iota // free devices of the node
	onPacking                      // whether the unit's pods are put together
	onImages                       // images of the nodes
	keyed                          // those before have a part in the key of a ranking
	onNode                         // the node itself and its pods
	onSiblings                     // pods of the same set; these scores are set for each unit
	onCandidates                   // the other candidates: the score is relative to theirs
	onPods                         // pods on other nodes
	dependencies
)

// keyPart returns what a key has to contain so that rankings with scores of this dependency can be
// kept. It returns false if they cannot.
func (d dependency) keyPart(in *Input) (string, bool) {
	switch d {
	case onCandidates, onPods:
		return "", false
	case onDevices:
		return in.CountKey, !in.Devices || in.CountKey != ""
	case onPacking:
		if in.Packs {
			return "packs", true
		}
	case onImages:
		if in.images != nil {
			return in.images.key, true
		}
	}
	return "", true
}

// preference is a reason to prefer one feasible node to another. It has one of the functions sum,
// node and unit.
type preference struct {
	name      string
	level     level
	weight    int64 // weight in levelAuthor
	dependsOn []dependency
	// applies reports whether the preference can make a difference; nil: it always can.
	applies func(in *Input) bool
	// sum sets raw scores of all candidates, and returns how they are brought to 0 to 100; nil: all
	// are equal.
	sum func(in *Input, list []Candidate, raw []int64) func(int64) int64
	// node returns the score of one node; less is better. It is called for each node and must not
	// allocate.
	node func(in *Input, info *model.NodeInfo) float64
	// unit sets the scores of a ranking for one unit.
	unit func(in *Input, r *Ranking)
}

// preferences are all there are. The weights of levelAuthor are upstream's.
var preferences = []preference{
	{
		name: "tolerated taints", level: levelAuthor, weight: 3, dependsOn: []dependency{onNode, onCandidates},
		applies: hasTaints, sum: scoreTaints,
	},
	{
		name: "node affinity", level: levelAuthor, weight: 2, dependsOn: []dependency{onNode, onCandidates},
		applies: prefersNodes, sum: scoreNodeAffinity,
	},
	{
		name: "pod affinity", level: levelAuthor, weight: 2, dependsOn: []dependency{onPods, onCandidates},
		applies: prefersPods, sum: scorePodAffinity,
	},
	{
		name: "topology spread", level: levelAuthor, weight: 2, dependsOn: []dependency{onPods, onCandidates},
		applies: prefersSpread, sum: scoreSpread,
	},
	{
		name: "earlier alternatives of device requests", level: levelAuthor, weight: 2,
		dependsOn: []dependency{onDevices, onCandidates}, applies: mayHaveAlternatives, sum: scoreAlternatives,
	},
	{name: "few free devices", level: levelDevices, dependsOn: []dependency{onDevices}},
	{name: "few pods of the same set", level: levelSiblings, dependsOn: []dependency{onSiblings}, unit: scoreSiblings},
	{name: "load", level: levelUse, dependsOn: []dependency{onNode, onPacking}, node: scoreLoad},
	{name: "image locality", level: levelUse, dependsOn: []dependency{onImages}, applies: hasImages, node: scoreImages},
}

// fullScore is the score of the best candidate, before it is weighted.
const fullScore = 100

// scoreAuthor sets the sums of levelAuthor.
func (in *Input) scoreAuthor(list []Candidate) {
	if len(list) < 2 {
		return
	}
	var raw []int64
	for i := range preferences {
		p := &preferences[i]
		if p.sum == nil || !p.applies(in) {
			continue
		}
		if raw == nil {
			raw = make([]int64, len(list))
		}
		normal := p.sum(in, list, raw)
		if normal == nil {
			continue
		}
		for n := range list {
			list[n].author += p.weight * normal(raw[n])
		}
	}
}

// examine returns the node as a candidate, with the scores that are set node by node.
func (in *Input) examine(e Examiner, info *model.NodeInfo) (c Candidate, failed bool) {
	devices, alternatives, result := e.Examine(info)
	c.Node, c.Excluded = info, result != Fits
	if result != Fits {
		return c, result == Failed
	}
	c.zone, c.Devices, c.Alternatives = info.Zone, devices, alternatives
	for _, score := range in.perNode {
		c.use += score(in, info)
	}
	return c, false
}

// prepare sets what is known before nodes are examined.
func (c *Cache) prepare(in *Input, taints bool) {
	in.images, in.taints, in.perNode = c.imagesOf(in.Shape.Fitter.Shape), taints, c.perNode[:0]
	for i := range preferences {
		p := &preferences[i]
		if p.node != nil && (p.applies == nil || p.applies(in)) {
			in.perNode = append(in.perNode, p.node)
		}
	}
	c.perNode = in.perNode
}

// scoreUnit sets the scores that are set again for each unit, and compares the candidates.
func (in *Input) scoreUnit(r *Ranking) {
	for i := range preferences {
		if score := preferences[i].unit; score != nil {
			score(in, r)
		}
	}
	r.settle()
}
