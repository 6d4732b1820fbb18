package sched

import (
	"fmt"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// evicted returns a Blocker if a claim has a device from which pods are evicted: other pods wait
// until it is allocated again, or the taint is removed.
func (j *job) evicted(key model.Key) *reason.Blocker {
	claim, _ := j.state.Claims.Get(key)
	device, taint, evicts := j.state.Devices.Evicts(claim)
	if !evicts {
		return nil
	}
	return &reason.Blocker{
		Text:   fmt.Sprintf("claim %s has device %s, which is tainted with %s", key, device, model.TaintText(taint)),
		Topics: []model.Topic{{Kind: model.TopicClaim, Key: key}, {Kind: model.TopicDevices}},
	}
}
