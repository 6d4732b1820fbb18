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

	// AllEvents has normal events printed as well as warnings.
	AllEvents bool
	Lines     []string

	// guards the other fields, and the server's objects, which are written in parallel
	mu      sync.Mutex
	queued  map[string]bool // names
	version int
}

// NewJournal returns a Journal that begins in the year 2026 with version 100.
func NewJournal(gather time.Duration) *Journal {
	return &Journal{
		Now: testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), Gather: gather,
		queued: map[string]bool{}, version: 100,
	}
}

// Record adds a line.
func (j *Journal) Record(format string, args ...any) {
	j.Lines = append(j.Lines, fmt.Sprintf(format, args...))
}

// stamp sets a new version, and a UID and creation time if they are missing, as a server does.
func (j *Journal) stamp(obj metav1.Object) {
	j.version++
	obj.SetNamespace("default")
	obj.SetResourceVersion(strconv.Itoa(j.version))
	if obj.GetUID() == "" {
		obj.SetUID(types.UID(fmt.Sprintf("uid-%s-%d", obj.GetName(), j.version)))
	}
	if created := obj.GetCreationTimestamp(); created.IsZero() {
		obj.SetCreationTimestamp(metav1.NewTime(j.Now.Now()))
	}
}

// Eventf implements reconciler.Recorder.
func (j *Journal) Eventf(_ runtime.Object, eventtype, reason, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.AllEvents || eventtype == corev1.EventTypeWarning {
		j.Record("event %s %s", reason, fmt.Sprintf(format, args...))
	}
}

// Add enqueues a key.
func (j *Journal) Add(key types.NamespacedName) { j.queued[key.Name] = true }

// AddAfter enqueues a key with the delay Gather, and records any other delay.
func (j *Journal) AddAfter(key types.NamespacedName, d time.Duration) {
	if d == j.Gather {
		j.Add(key)
		return
	}
	j.Record("again in %v", d)
}

// Flush returns the lines and the queue, and empties both. Parallel writes of one kind are sorted.
func (j *Journal) Flush() string {
	lines := j.Lines
	j.Lines = nil
	sortParallel(lines)
	if queued := j.takeQueue(); len(queued) > 0 {
		lines = append(lines, "queue: "+strings.Join(slices.Sorted(maps.Keys(queued)), " "))
	}
	if len(lines) == 0 {
		return "ok\n"
	}
	return strings.Join(lines, "\n") + "\n"
}

// takeQueue returns the queue, and empties it.
func (j *Journal) takeQueue() map[string]bool {
	queued := j.queued
	j.queued = map[string]bool{}
	return queued
}

// sortParallel sorts runs of lines about pods that were created or deleted concurrently.
func sortParallel(lines []string) {
	slices.SortStableFunc(lines, func(a, b string) int {
		for _, parallel := range []string{"create pod ", "delete pod "} {
			if strings.HasPrefix(a, parallel) && strings.HasPrefix(b, parallel) {
				return strings.Compare(a, b)
			}
		}
		return 0
	})
}
