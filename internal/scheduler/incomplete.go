package scheduler

import (
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// parkIncomplete parks a group that has too few members to be tried, or that a member with scheduling gates holds, without a
// look at each: they come one by one, and may be thousands. It answers false if there are enough, or if more may have to be done than to wait for them: bound members
// to be rolled back, devices to be given back.
func (q *unitQueue) parkIncomplete(key model.UnitKey) bool {
	group, ok := q.state.Groups.Get(key.Key)
	if !key.Group || !ok {
		return false
	}
	census := q.state.Groups.Census(key.Key)
	few := sched.TooFew(group, census)
	if census.Ready == 0 || !few && census.Gated == 0 || !group.Scheduled && (census.Bound > 0 || q.usage.mayHold(group)) {
		return false
	}
	delete(q.halfBound, key)
	q.leavePlace(key)
	// Its rank does not matter: whatever wakes it has it offered anew.
	q.queue.Park(sched.Entry{Key: key}, []model.Topic{{Kind: model.TopicGroup, Key: key.Key}, {Kind: model.TopicMembers, Key: key.Key}})
	if few {
		q.status.reportDivided(group)
	} else {
		q.status.reportGated(group)
	}
	return true
}
