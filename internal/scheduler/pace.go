package scheduler

import (
	"regexp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/model"
)

// Messages name the holder of a device and count what is free. While many pods wait for one device,
// each pod that gets it changes the messages of all others. If every change were written, the
// writes would grow with the square of the pods. So the distance of two writes for one object
// doubles with each write. A message that differs in more than names and numbers, because an
// obstacle was removed, does not wait longer than sharpDistance.
const (
	firstDistance = time.Second
	sharpDistance = 10 * time.Second
	lastDistance  = 10 * time.Minute
)

// pace spaces the reports about objects that wait.
type pace struct {
	clock clock.PassiveClock

	mu      sync.Mutex // report is the last report about one object.
	reports map[model.Key]*report
}

// report is the last report about one object.
type report struct {
	uid   types.UID
	kind  string // kind of message; see kindOfMessage
	time  time.Time
	times int // number of reports
}

func newPace(c clock.PassiveClock) *pace { return &pace{clock: c, reports: map[model.Key]*report{}} }

// wait returns how long a message about the object has to wait, 0 if it may be written.
func (p *pace) wait(key model.Key, uid types.UID, message string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.reports[key]
	if !ok || last.uid != uid {
		return 0
	}
	distance := min(firstDistance<<min(last.times, 20), lastDistance)
	if last.kind != kindOfMessage(message) {
		distance = min(distance, sharpDistance)
	}
	return max(0, last.time.Add(distance).Sub(p.clock.Now()))
}

// recordWrite records that a message was written, and reports whether it differs from the one
// before in more than names and numbers.
func (p *pace) recordWrite(key model.Key, uid types.UID, message string) (news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.reports[key]
	if !ok || last.uid != uid {
		last = &report{uid: uid}
		p.reports[key] = last
	}
	kind := kindOfMessage(message)
	news = last.kind != kind
	last.kind, last.time = kind, p.clock.Now()
	last.times++
	return news
}

// forget removes the reports about an object.
func (p *pace) forget(key model.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.reports, key)
}

// changingParts are the parts of a message that depend on which of the other pods run at the
// moment: lists in parentheses, the node that is nearest, and numbers.
var changingParts = regexp.MustCompile(`\([^()]*\)|nearest is \S+|closest: \S+|[0-9]+`)

// kindOfMessage returns a message without names of holders and without numbers.
func kindOfMessage(message string) string { return changingParts.ReplaceAllString(message, "") }
