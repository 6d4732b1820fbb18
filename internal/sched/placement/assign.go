package placement

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// admits reports whether the member can be placed on the node, apart from its devices. The node has
// passed the static checks.
func (t *trial) admits(m *podCandidate, info *model.NodeInfo) bool {
	return !m.class.checkDynamic(info).Failed() && t.fullClaim(m) == nil && m.class.isMountable()
}

// assign places a member on a node, with this choice of devices for its own claims.
func (t *trial) assign(m *podCandidate, info *model.NodeInfo, choice alloc.Choice, draws []model.Draw) {
	for i, claim := range m.own {
		t.assumeClaim(claim.Key, model.Assumption{Allocation: choice[i]})
	}
	f := m.class.form(info)
	if m.needsNewClaim(f) {
		t.assumeClaim(m.extendedKey(), model.Assumption{
			NewClaim: m.newClaim(f), Allocation: choice[len(m.own)],
			Consumers: []model.Consumer{model.PodConsumer(m.pod.Key.Name, m.pod.UID)},
		})
	}
	for _, use := range m.uses {
		t.reserve(m, use)
	}
	if !t.state.Pods.Assume(m.pod.Key, info.Name, draws...) {
		panic("placement: pod " + m.pod.Key.String() + " is placed twice")
	}
	t.pods = append(t.pods, plan.Pod{
		Pod: m.pod.Key, UID: m.pod.UID, Node: info.Name, NodeUID: info.Node.UID, Draws: draws,
		Extended: m.extendedStatus(f),
	})
}
