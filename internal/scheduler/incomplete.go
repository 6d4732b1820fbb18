package scheduler

import (
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/queue"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// parkIncomplete parks a group that has too few members to be tried or a member with scheduling
// gates, without looking at each of possibly thousands of members. It returns false if there are
// enough, or if more may have to be done: roll bound members back, or free devices.
func (q *unitQueue) parkIncomplete(key model.UnitKey) bool {
	group, ok := q.state.Groups.Get(key.Key)
	if !key.Group || !ok || q.state.UnitOfGroup(key.Key) != key {
		return false
	}
	census := q.state.Groups.Census(key.Key)
	few := group.IsBelowQuorum(census)
	if census.Ready == 0 || !few && census.Gated == 0 || !group.Scheduled && (census.Bound > 0 || q.usage.MayHold(group)) {
		return false
	}
	delete(q.halfBound, key)
	q.dropNomination(key)
	// The rank does not matter: whatever wakes the group has it offered again.
	q.queue.Park(queue.Entry{Key: key},
		[]model.Topic{{Kind: model.TopicGroup, Key: key.Key}, {Kind: model.TopicMembers, Key: key.Key}})
	if few {
		q.historyOf(key).cause = string(reason.BelowQuorum)
		q.status.reportDivided(group)
	} else {
		q.historyOf(key).cause = string(reason.Gated)
		q.status.reportGated(group)
	}
	return true
}
