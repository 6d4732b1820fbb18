package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/allot-dev/allot/internal/inventory"
)

// tally is a Meter that remembers, without the times.
type tally struct {
	tried, committed map[string]int
	bound            int
	active, parked   int
	preempted        []string
	ended            map[string]int // pods, by kind of unit and result
	others           []string
}

func newTally() *tally {
	return &tally{tried: map[string]int{}, committed: map[string]int{}, ended: map[string]int{}}
}

func (m *tally) Tried(unit, result string, _ time.Duration, _ int) { m.tried[unit+" "+result]++ }

func (m *tally) Committed(result string, _ time.Duration, pods int) {
	m.committed[result]++
	m.bound += pods
}

func (m *tally) Ended(o inventory.Outcome) { m.ended[o.Unit+" "+string(o.Result)] += o.Pods }

func (m *tally) Created(claims int)                   { m.note("%d claims created", claims) }
func (m *tally) Searched(string, bool, time.Duration) {}
func (m *tally) Evicted(cause string, pods int)       { m.note("%s: %d pods evicted", cause, pods) }
func (m *tally) RolledBack()                          { m.note("rolled back") }
func (m *tally) Freed(cause string)                   { m.note("a claim freed: %s", cause) }

func (m *tally) note(format string, args ...any) {
	m.others = append(m.others, fmt.Sprintf(format, args...))
}

func (m *tally) Preempted(unit string, pods, groups int) {
	m.preempted = append(m.preempted, fmt.Sprintf("%s: %d pods, %d groups", unit, pods, groups))
}

func (m *tally) Waiting(active, parked int) { m.active, m.parked = active, parked }

func (m *tally) String() string {
	return fmt.Sprintf("tried %v, committed %v, bound %d, active %d, parked %d", m.tried, m.committed, m.bound, m.active,
		m.parked)
}

// startWithTwoGangs starts a session with a node of two devices and two gangs, of which the second
// has a member too many. Each member has a claim of its own.
func startWithTwoGangs(t *testing.T) (*server, *session) {
	s := newServer(t)
	x := start(t, s)
	x.addTwoGangs(s)
	return s, x
}

// addTwoGangs adds what startWithTwoGangs starts with.
func (x *session) addTwoGangs(s *server) {
	s.addNode("n1", 100, 2)
	for _, gang := range []struct {
		name string
		size int
	}{{"fits", 2}, {"large", 3}} {
		s.addGang(gang.name, int32(gang.size))
		for i := range gang.size {
			name := fmt.Sprintf("%s-%d", gang.name, i)
			s.addClaim(name, 1)
			s.addPod(name, gang.name, own(name))
		}
		x.idle()
	}
}

func TestWhatIsDoneIsCounted(t *testing.T) {
	s, x := startWithTwoGangs(t)
	s.addPod("alone", "")
	x.idle()
	want := "tried map[gang placed:1 gang unschedulable:1 pod placed:1], committed map[written:2], bound 3, active 0, parked 1"
	if got := x.meter.String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	want = "map[gang scheduled:2 gang unschedulable:3 pod scheduled:1]"
	if got := fmt.Sprint(x.meter.ended); got != want {
		t.Errorf("pods by outcome: %s\nwant %s", got, want)
	}
}
