package reason

import (
	"cmp"
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// Failures counts nodes by what they failed at.
type Failures map[string]*NodeFailure

// Add counts a node that failed a check.
func (f Failures) Add(node string, failure nodefit.Failure) {
	n := NodeFailure{Check: failure.Check, Detail: failure.Detail, Closest: node, Lacking: failure.Lacking}
	f.add(n, func(known *NodeFailure) bool { return failure.Lacking < known.Lacking })
}

// AddVolume counts a node from which a volume cannot be used.
func (f Failures) AddVolume(node string, mount *nodefit.Mount) {
	detail := mount.Volume.Name + " of PersistentVolumeClaim " + mount.Claim.String()
	n := NodeFailure{Check: nodefit.CheckVolume, Detail: detail, Volume: mount.Volume.Name, Closest: node}
	f.add(n, func(*NodeFailure) bool { return false })
}

// AddClaim counts a node from which the devices of a claim cannot be used.
func (f Failures) AddClaim(node string, claim model.Key) {
	n := NodeFailure{Check: nodefit.CheckClaimNode, Detail: claim.String(), Claim: claim, Closest: node}
	f.add(n, func(*NodeFailure) bool { return false })
}

// AddDevices counts a node that has too few devices.
func (f Failures) AddDevices(node string, reason *alloc.Reason) {
	detail := string(reason.Kind) + reason.Subject()
	n := NodeFailure{Check: nodefit.CheckDevices, Detail: detail, Closest: node, Alloc: reason}
	known := f.add(n, func(known *NodeFailure) bool { return reason.IsCloser(known.Alloc) })
	for _, pool := range reason.Pools {
		if !slices.Contains(known.Pools, pool) {
			known.Pools = append(known.Pools, pool)
		}
	}
}

// add counts a node; closer reports whether less is missing than in what is known.
func (f Failures) add(n NodeFailure, closer func(known *NodeFailure) bool) *NodeFailure {
	id := string(n.Check) + "\x00" + n.Detail
	example := NodeExample{Node: n.Closest, Lacking: n.Lacking, Alloc: n.Alloc}
	known, ok := f[id]
	if !ok {
		n.Nodes, n.Examples = 1, []NodeExample{example}
		f[id] = &n
		return &n
	}
	if closer(known) {
		n.Nodes, n.Pools, n.Examples = known.Nodes, known.Pools, known.Examples
		*known = n
	}
	if len(known.Examples) < maxExamples {
		known.Examples = append(known.Examples, example)
	}
	known.Nodes++
	return known
}

// List returns the failures, the most frequent first.
func (f Failures) List() []NodeFailure {
	list := make([]NodeFailure, 0, len(f))
	for _, n := range f {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b NodeFailure) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Check, b.Check), cmp.Compare(a.Detail, b.Detail))
	})
	return list
}
