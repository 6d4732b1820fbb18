package scheduler

import (
	"time"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// A search that ended undecided took the whole budget, and most changes leave it as hard as it was. So an undecided unit
// is tried again after a pause that doubles, however much happens meanwhile. A change of its own pods or group does not
// wait: it makes it another unit.
const (
	firstUndecided = time.Second
	lastUndecided  = 5 * time.Minute
)

// backoff is the pause of an undecided unit.
type backoff struct {
	times int       // that it was undecided in a row
	until time.Time // the end of the pause
	woken bool      // something has come up meanwhile that can help
}

// parkUndecided parks a unit until something comes up that can help, and at least until its pause is over.
func (s *Scheduler) parkUndecided(entry sched.Entry, reasons *sched.Reasons) {
	b := s.undecided[entry.Key]
	if b == nil {
		b = &backoff{}
		s.undecided[entry.Key] = b
	}
	pause := min(firstUndecided<<min(b.times, 10), lastUndecided)
	b.times++
	b.until, b.woken = s.clock.Now().Add(pause), false
	times := b.times
	s.queue.ParkUntil(entry, reasons.Topics(), func(topic model.Topic) bool {
		if !reasons.Helps(s.state, topic) {
			return false
		}
		b.woken = true
		return !s.clock.Now().Before(b.until)
	})
	s.after(pause, func() []model.Topic {
		if s.undecided[entry.Key] == b && b.times == times && b.woken {
			s.offer(entry.Key)
		}
		return nil
	})
}
