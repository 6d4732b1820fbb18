package scheduler

import (
	"time"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/queue"
)

// A search that ended undecided used the whole budget, and most changes leave it as hard. So an
// undecided unit is tried again after a pause that doubles, whatever changes meanwhile. A change of
// its own pods or group does not wait, because it makes another search.
const (
	firstUndecided = time.Second
	lastUndecided  = 5 * time.Minute
)

// backoff is the pause of an undecided unit.
type backoff struct {
	times int       // consecutive undecided attempts
	until time.Time // the end of the pause
	woken bool      // a change that can help came in the meantime
}

// parkUndecided parks a unit until a change that can help, and at least until its pause is over.
func (q *unitQueue) parkUndecided(entry queue.Entry, reasons *sched.Reasons) {
	b := q.undecided[entry.Key]
	if b == nil {
		b = &backoff{}
		q.undecided[entry.Key] = b
	}
	pause := min(firstUndecided<<min(b.times, 10), lastUndecided)
	b.times++
	b.until, b.woken = q.clock.Now().Add(pause), false
	times := b.times
	q.queue.ParkUntil(entry, reasons.Topics(), func(topic model.Topic) bool {
		if !reasons.Helps(q.state, topic) {
			return false
		}
		b.woken = true
		return !q.clock.Now().Before(b.until)
	})
	q.runAfter(pause, func() []model.Topic {
		if q.undecided[entry.Key] == b && b.times == times && b.woken {
			q.enqueue(entry.Key)
		}
		return nil
	})
}
