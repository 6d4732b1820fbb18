package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	firstBackoff = 10 * time.Second
	lastBackoff  = 5 * time.Minute
	killed       = 137 // the exit code of a container that did not stop in time
)

// run is one execution of a pod's containers. All containers of a simulated pod start and end together.
type run struct {
	from, to time.Time
	exitCode int32
}

// life is the simulated life of one pod. It has no clock: advance takes it to a moment.
type life struct {
	script script
	policy corev1.RestartPolicy

	begun    time.Time // the first run
	restarts int32     // before the run at from
	from     time.Time // of the run that is on, or that comes next
	last     *run      // the run before
	ended    bool      // last is the final one

	stopAt   time.Time // zero: nobody asked to stop
	stopCode int32
}

// advance plays everything that happens up to now.
func (l *life) advance(now time.Time) {
	for !l.ended {
		end, code := l.nextEnd()
		if end.IsZero() || end.After(now) {
			return
		}
		if end.Before(l.from) { // stopped while it waited to be restarted
			l.ended = true
			l.restarts--
			return
		}
		l.last = &run{from: l.from, to: end, exitCode: code}
		if !l.restartsAfter(code) {
			l.ended = true
			return
		}
		l.from = end.Add(backoff(l.restarts))
		l.restarts++
	}
}

// nextEnd is when the current run ends, and how; zero if it runs on.
func (l *life) nextEnd() (time.Time, int32) {
	var end time.Time
	if l.script.ends {
		end = l.from.Add(l.script.runFor)
	}
	if !l.stopAt.IsZero() && (end.IsZero() || l.stopAt.Before(end)) {
		return l.stopAt, l.stopCode
	}
	return end, l.script.exitCode
}

func (l *life) restartsAfter(code int32) bool {
	if !l.stopAt.IsZero() {
		return false
	}
	return l.policy == corev1.RestartPolicyAlways || l.policy == corev1.RestartPolicyOnFailure && code != 0
}

// backoff is the wait before a restart, when there were so many before it. The first one comes at once.
func backoff(restarts int32) time.Duration {
	if restarts == 0 {
		return 0
	}
	return min(firstBackoff<<min(restarts-1, 10), lastBackoff)
}

// stop asks for the end within grace.
func (l *life) stop(now time.Time, grace time.Duration) {
	at, code := now.Add(l.script.stopFor), int32(0)
	if l.script.stopFor > grace {
		at, code = now.Add(grace+l.script.killFor), killed
	}
	if l.stopAt.IsZero() || at.Before(l.stopAt) {
		l.stopAt, l.stopCode = at, code
	}
}

// running tells whether the containers run at now, after advance.
func (l *life) running(now time.Time) bool { return !l.ended && !l.from.After(now) }

// again is the next moment at which something changes; zero if nothing does.
func (l *life) again(now time.Time) time.Time {
	if l.ended {
		return time.Time{}
	}
	end, _ := l.nextEnd()
	if l.from.After(now) && (end.IsZero() || l.from.Before(end)) {
		return l.from
	}
	return end
}
