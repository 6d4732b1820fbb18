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

// Journal records the actions of a controller as lines. It is the controller's event recorder, its
// queue and its clock, and sets the versions of the server's objects.
type Journal struct {
	Now *testclock.FakeClock
	// Gather is the delay that controllers use for events. A key that is added with this delay is
	// in the queue.
	Gather time.Duration

	// guards the fields below, and the server's objects that are written in parallel
	Mu     sync.Mutex
	Lines  []string
	Refuse map[string]error // error by verb
	Queued map[string]bool  // names

	version int
}

// NewJournal returns a Journal that begins in the year 2026 with version 100.
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

// Stamp sets a new version, and a UID and creation time if they are missing, as a server does.
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

// Eventf records warnings.
func (j *Journal) Eventf(_ runtime.Object, eventtype, reason, format string, args ...any) {
	j.Mu.Lock()
	defer j.Mu.Unlock()
	if eventtype == corev1.EventTypeWarning {
		j.Say("event %s %s", reason, fmt.Sprintf(format, args...))
	}
}

// Add enqueues a key.
func (j *Journal) Add(key types.NamespacedName) { j.Queued[key.Name] = true }

// AddAfter enqueues a key with the delay Gather, and records any other delay.
func (j *Journal) AddAfter(key types.NamespacedName, d time.Duration) {
	if d == j.Gather {
		j.Add(key)
		return
	}
	j.Say("again in %v", d)
}

// Flush returns the lines and the queue, and empties both. Parallel writes of one kind are sorted.
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
