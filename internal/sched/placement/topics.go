package placement

import (
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// setWakes sets the changes that can help a unit. If the unit was tried in more than one way, these
// are all changes of what its members depend on. For single pods, the check that each node failed
// is more precise.
func (in *input) setWakes(w *reason.Wakes) {
	w.Dependencies = in.dependencies()
	for _, c := range in.classes {
		w.Shapes = append(w.Shapes, c.fitter.WithoutCounts())
	}
	if in.unit.Min <= 1 && len(in.shared) == 0 && in.topologyKey() == "" && !in.state.Devices.HasDraws() {
		w.Further = in.volumeTopics()
		return
	}
	w.Further = append(in.dependencies(), model.Topic{Kind: model.TopicNodes})
	if w.LacksDevices = in.lacksDevices(); !w.LacksDevices {
		w.Further = append(w.Further, model.Topic{Kind: model.TopicRoom})
	}
}

// dependencies returns the changes, other than of nodes and their free resources, that affect where
// the unit's pods can run.
func (in *input) dependencies() []model.Topic {
	topics := in.volumeTopics()
	for _, c := range in.classes {
		if c.fitter.DependsOnPods(in.state) {
			topics = append(topics, model.Topic{Kind: model.TopicPods})
		}
		if c.extended != nil {
			topics = append(topics, model.Topic{Kind: model.TopicDevices})
		}
		for _, resource := range c.fitter.Shape.Offerable() {
			topics = append(topics, model.OfferOf(resource))
		}
		for _, use := range c.members[0].uses {
			topics = append(topics, model.Topic{Kind: model.TopicDevices}, model.Topic{Kind: model.TopicClaim, Key: use.claim})
		}
	}
	return topics
}

// volumeTopics returns the changes of what limits where the unit's pods can mount volumes.
func (in *input) volumeTopics() []model.Topic {
	var topics []model.Topic
	for _, c := range in.classes {
		for i := range c.mounts {
			topics = append(topics, mountTopics(c.mounts[i].Claim, c.mounts[i].Volume.Name)...)
		}
	}
	return topics
}
