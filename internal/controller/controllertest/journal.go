package controllertest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
)

// Journal writes down as lines what a controller does. It is the controller's recorder of events, its queue and its clock,
// and gives the server's objects their versions.
type Journal struct {
	Now *testclock.FakeClock
	// Gather is how long events wait for others; a key that is added with that delay is in the queue.
	Gather time.Duration

	Mu     sync.Mutex // guards what is below, and what the server has of what is written in parallel
	Lines  []string
	Refuse map[string]error // verb → answer
	Queued map[string]bool  // names

	version int
}

// NewJournal begins with the year 2026 and version 100.
func NewJournal(gather time.Duration) *Journal {
	return &Journal{
		Now: testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), Gather: gather,
		Refuse: map[string]error{}, Queued: map[string]bool{}, version: 100,
	}
}

// Say adds a line.
func (j *Journal) Say(format string, args ...any) {
	j.Lines = append(j.Lines, fmt.Sprintf(format, args...))
}

// Stamp gives an object what the server gives: a new version, and what it lacks.
func (j *Journal) Stamp(m *metav1.ObjectMeta) {
	j.version++
	m.Namespace, m.ResourceVersion = "default", strconv.Itoa(j.version)
	if m.UID == "" {
		m.UID = types.UID(fmt.Sprintf("uid-%s-%d", m.Name, j.version))
	}
	if m.CreationTimestamp.IsZero() {
		m.CreationTimestamp = metav1.NewTime(j.Now.Now())
	}
}

// Eventf writes warnings down.
func (j *Journal) Eventf(_ runtime.Object, eventtype, reason, format string, args ...any) {
	j.Mu.Lock()
	defer j.Mu.Unlock()
	if eventtype == corev1.EventTypeWarning {
		j.Say("event %s %s", reason, fmt.Sprintf(format, args...))
	}
}

// Add puts a key into the queue.
func (j *Journal) Add(key types.NamespacedName) { j.Queued[key.Name] = true }

// AddAfter puts a key into the queue if an event has asked for it, and else writes the delay down.
func (j *Journal) AddAfter(key types.NamespacedName, d time.Duration) {
	if d == j.Gather {
		j.Add(key)
		return
	}
	j.Say("again in %v", d)
}

// Flush gives the lines and the queue, and empties both. Parallel writes of one kind come in any order and are sorted.
func (j *Journal) Flush() string {
	lines := j.Lines
	j.Lines = nil
	Sort(lines)
	if len(j.Queued) > 0 {
		lines = append(lines, "queue: "+strings.Join(slices.Sorted(maps.Keys(j.Queued)), " "))
		clear(j.Queued)
	}
	if len(lines) == 0 {
		return "ok\n"
	}
	return strings.Join(lines, "\n") + "\n"
}
