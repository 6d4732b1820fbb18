package reason

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// Wakes are changes that can help a unit beyond what its NodeFailures show: these are those of the
// best attempt only.
type Wakes struct {
	Further []model.Topic
	// Dependencies are changes that can help after preemption on a node: a node is counted at the
	// first check that it fails, and preemption may remove that cause.
	Dependencies []model.Topic
	Offers       []model.Topic     // they decide whether the pods get devices instead of extended resources
	Shapes       []*nodefit.Fitter // shapes of the pods that were tried
	// Preemptor is the unit if preemption could help it once more terminates, or nil.
	Preemptor *model.Unit
	// LacksDevices means that too few devices are free, so that free resources of nodes do not
	// help.
	LacksDevices bool
}

// Helps reports whether a change may help the unit. It is quick and may be wrong in that case only.
// Free resources on a node help if it takes a pod of the unit by itself; otherwise each pod that
// terminates would cause all groups to be tried that wait for free resources anywhere.
func (w *Wakes) Helps(state *model.State, topic model.Topic) bool {
	if topic.Kind != model.TopicRoom || topic.Key.Name == "" || len(w.Shapes) == 0 {
		return true
	}
	info, ok := state.Nodes.Get(topic.Key.Name)
	if !ok {
		return false
	}
	for _, shape := range w.Shapes {
		fits := shape.Fits(info) > 0 || w.Preemptor != nil && shape.FitsWithoutLower(info, w.Preemptor.Priority)
		if fits && !shape.Static(info).Failed() {
			return true
		}
	}
	return false
}

// Topics returns the changes after which the unit may be placed, or the reasons may change.
func (r *Reasons) Topics() []model.Topic {
	set := map[model.Topic]bool{}
	switch {
	case r.Unit.Group:
		set[model.Topic{Kind: model.TopicGroup, Key: r.Unit.Key}] = true
		set[model.Topic{Kind: model.TopicMembers, Key: r.Unit.Key}] = true
	case r.Unit.Tree:
		set[model.Topic{Kind: model.TopicTree, Key: r.Unit.Key}] = true
	default:
		set[model.Topic{Kind: model.TopicPod, Key: r.Unit.Key}] = true
	}
	for i := range r.Pods {
		r.Pods[i].topics(set)
	}
	for _, topic := range slices.Concat(r.Further, r.Offers) {
		set[topic] = true
	}
	if r.LacksDevices {
		delete(set, model.Topic{Kind: model.TopicRoom})
	}
	list := make([]model.Topic, 0, len(set))
	for topic := range set {
		list = append(list, topic)
	}
	slices.SortFunc(list, func(a, b model.Topic) int { return strings.Compare(a.String(), b.String()) })
	return list
}

func (p *PodReasons) topics(set map[model.Topic]bool) {
	if p.Blocker != nil {
		for _, topic := range p.Blocker.Topics {
			set[topic] = true
		}
		return
	}
	if p.Alloc != nil {
		for _, topic := range p.Alloc.Topics() {
			set[topic] = true
		}
		return
	}
	set[model.Topic{Kind: model.TopicNodes}] = true
	for i := range p.Failures {
		f := &p.Failures[i]
		switch f.Check {
		case nodefit.CheckResource, nodefit.CheckHostPort, nodefit.CheckVolumeLimit:
			set[model.Topic{Kind: model.TopicRoom}] = true
			if name := corev1.ResourceName(f.Detail); model.IsOfferable(name) {
				set[model.OfferOf(name)] = true
			}
		case nodefit.CheckPodAffinity, nodefit.CheckPodAnti, nodefit.CheckForbidden, nodefit.CheckSpread:
			set[model.Topic{Kind: model.TopicPods}] = true
		case nodefit.CheckClaimNode:
			set[model.Topic{Kind: model.TopicClaim, Key: f.Claim}] = true
		case nodefit.CheckVolume: // its zone labels may change
			set[model.Topic{Kind: model.TopicVolume, Key: model.Key{Name: f.Volume}}] = true
		case nodefit.CheckDevices:
			for _, topic := range f.Alloc.Topics() {
				set[topic] = true
			}
		}
	}
}
