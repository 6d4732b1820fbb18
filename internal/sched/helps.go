package sched

import (
	"github.com/allot-dev/allot/internal/model"
)

// Helps says whether something that happened can change the answer, as far as a glance tells. A node with new room
// helps only if it takes a pod of the unit by itself; without this, each pod that ends would have every group tried that waits for room
// anywhere.
func (r *Reasons) Helps(state *model.State, topic model.Topic) bool {
	if topic.Kind != model.TopicRoom || topic.Key.Name == "" || len(r.shapes) == 0 {
		return true
	}
	info, ok := state.Nodes.Get(topic.Key.Name)
	if !ok {
		return false
	}
	for _, f := range r.shapes {
		if (f.Fits(info) > 0 || r.room != nil && f.FitsWithoutLower(info, r.room.Priority)) && !f.Static(info).Failed() {
			return true
		}
	}
	return false
}
