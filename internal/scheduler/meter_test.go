package scheduler

import (
	"fmt"
	"testing"
	"time"
)

// tally is a Meter that remembers, without the times.
type tally struct {
	tried, committed map[string]int
	bound            int
	active, parked   int
	preempted        []string
}

func newTally() *tally { return &tally{tried: map[string]int{}, committed: map[string]int{}} }

func (m *tally) Tried(unit, result string, _ time.Duration) { m.tried[unit+" "+result]++ }

func (m *tally) Committed(result string, _ time.Duration, pods int) {
	m.committed[result]++
	m.bound += pods
}

func (m *tally) Preempted(unit string, pods, groups int) {
	m.preempted = append(m.preempted, fmt.Sprintf("%s: %d pods, %d groups", unit, pods, groups))
}

func (m *tally) Waiting(active, parked int) { m.active, m.parked = active, parked }

func (m *tally) String() string {
	return fmt.Sprintf("tried %v, committed %v, bound %d, active %d, parked %d", m.tried, m.committed, m.bound, m.active,
		m.parked)
}

func TestWhatIsDoneIsCounted(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 100, 2)
	x := start(t, s)
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
	s.addPod("alone", "")
	x.idle()
	want := "tried map[gang placed:1 gang unschedulable:1 pod placed:1], committed map[written:2], bound 3, active 0, parked 1"
	if got := x.meter.String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
