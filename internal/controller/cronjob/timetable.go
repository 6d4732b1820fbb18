package cronjob

import (
	"errors"
	"time"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/cron"
)

const (
	// padding is added to the time of the next check, so that it is not before the time of the
	// schedule where clocks differ.
	padding = 100 * time.Millisecond
	// manyMissed is the number of missed times from which on a clock or a deadline is probably
	// wrong.
	manyMissed = 100
)

var errPeriod = errors.New("time difference between two schedules is less than 1 second")

// timetable has the times of one CronJob.
type timetable struct {
	cron     *batch.CronJob
	schedule cron.Schedule
	now      time.Time
}

// due is the last scheduled time of a timetable up to now.
type due struct {
	since time.Time // earlier times do not count
	at    time.Time // last time of the schedule up to now, after since; zero if there is none
	// missed is the approximate number of times between since and at, and zero for up to one.
	missed int64
}

// due returns the last time that is due. limited means that times before the starting deadline do
// not count.
func (t timetable) due(limited bool) (due, error) {
	d := due{since: t.since(limited)}
	first := t.schedule.Next(d.since)
	second := t.schedule.Next(first)
	switch {
	case t.now.Before(first):
		return d, nil
	case t.now.Before(second):
		d.at = first
		return d, nil
	}
	// Times that do not exist, such as February 31, are all zero.
	period := second.Sub(first).Round(time.Second)
	if period < time.Second {
		return d, errPeriod
	}
	d.missed = int64(t.now.Sub(first)/period) + 1
	// The search begins one period before the last time that a regular schedule has: schedules with
	// @every count from the first time, and irregular ones may have more times after it.
	start := first.Add(time.Duration(d.missed-2) * period)
	for at := t.schedule.Next(start); !at.IsZero() && !at.After(t.now); at = t.schedule.Next(at) {
		d.at = at
	}
	return d, nil
}

// since returns the time up to which all times of the schedule are settled.
func (t timetable) since(limited bool) time.Time {
	since := t.cron.CreationTimestamp.Time
	if last := t.cron.Status.LastScheduleTime; last != nil {
		since = last.Time
	}
	if limit := t.cron.Spec.StartingDeadlineSeconds; limited && limit != nil {
		if deadline := t.now.Add(-seconds(*limit)); deadline.After(since) {
			return deadline
		}
	}
	return since
}

// untilNext returns the time until the next check, or zero if the schedule has no further times.
func (t timetable) untilNext() time.Duration {
	d, err := t.due(false)
	from := t.now
	switch {
	case err != nil:
	case !d.at.IsZero():
		from = d.at
	case d.missed == 0:
		from = d.since
	}
	next := t.schedule.Next(from)
	if next.IsZero() {
		return 0
	}
	return max(next.Add(padding).Sub(t.now), padding)
}

// isTooLate reports whether the deadline for a time of the schedule has passed.
func (t timetable) isTooLate(at time.Time) bool {
	limit := t.cron.Spec.StartingDeadlineSeconds
	return limit != nil && at.Add(seconds(*limit)).Before(t.now)
}

// maxSeconds is the largest number of seconds that a duration can have.
const maxSeconds = int64(1<<63-1) / int64(time.Second)

func seconds(n int64) time.Duration { return time.Duration(min(n, maxSeconds)) * time.Second }
