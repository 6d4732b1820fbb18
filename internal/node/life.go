package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	firstBackoff = 10 * time.Second
	lastBackoff  = 5 * time.Minute
	killed       = 137 // exit code of a killed container
)

// run is one execution of a pod's containers. All containers of a simulated pod start and end
// together.
type run struct {
	start, end time.Time
	exitCode   int32
}

// life simulates one pod. It has no clock: advance moves it to a point in time.
type life struct {
	script script
	policy corev1.RestartPolicy

	begun    time.Time // start of the first run
	restarts int32     // before the current run
	start    time.Time // start of the current or next run
	last     *run      // previous run
	ended    bool      // last is the final run

	stopAt   time.Time // zero if no stop was requested
	stopCode int32
}

// advance simulates everything up to now.
func (l *life) advance(now time.Time) {
	for !l.ended {
		end, code := l.nextEnd()
		if end.IsZero() || end.After(now) {
			return
		}
		if end.Before(l.start) { // stopped while waiting for a restart
			l.ended = true
			l.restarts--
			return
		}
		l.last = &run{start: l.start, end: end, exitCode: code}
		if !l.restartsAfter(code) {
			l.ended = true
			return
		}
		l.start = end.Add(backoff(l.restarts))
		l.restarts++
	}
}

// nextEnd returns the end and exit code of the current run; the time is zero if it does not end.
func (l *life) nextEnd() (time.Time, int32) {
	var end time.Time
	if l.script.ends {
		end = l.start.Add(l.script.runFor)
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

// backoff returns the delay before a restart after a number of restarts. The first restart is
// immediate.
func backoff(restarts int32) time.Duration {
	if restarts == 0 {
		return 0
	}
	return min(firstBackoff<<min(restarts-1, 10), lastBackoff)
}

// stop requests the end within the grace period.
func (l *life) stop(now time.Time, grace time.Duration) {
	at, code := now.Add(l.script.stopFor), int32(0)
	if l.script.stopFor > grace {
		at, code = now.Add(grace+l.script.killFor), killed
	}
	if l.stopAt.IsZero() || at.Before(l.stopAt) {
		l.stopAt, l.stopCode = at, code
	}
}

// running reports whether the containers run at now. advance must have been called.
func (l *life) running(now time.Time) bool { return !l.ended && !l.start.After(now) }

// nextChange returns the time of the next change, or zero if there is none.
func (l *life) nextChange(now time.Time) time.Time {
	if l.ended {
		return time.Time{}
	}
	end, _ := l.nextEnd()
	if l.start.After(now) && (end.IsZero() || l.start.Before(end)) {
		return l.start
	}
	return end
}
