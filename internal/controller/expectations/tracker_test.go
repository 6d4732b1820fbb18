package expectations

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
)

// world is a cache of pods and a fake clock, with a Tracker on them.
type world struct {
	*Tracker
	clock *testclock.FakePassiveClock
	pods  map[string]*corev1.Pod
}

func newWorld() *world {
	w := &world{clock: testclock.NewFakePassiveClock(time.Unix(1000, 0)), pods: map[string]*corev1.Pod{}}
	w.Tracker = NewTracker(func(_, name string, uid types.UID) (bool, bool) {
		pod, ok := w.pods[name]
		if !ok || pod.UID != uid {
			return false, false
		}
		return true, pod.DeletionTimestamp != nil
	}, w.clock, time.Minute)
	return w
}

func pod(name string, uid types.UID, version int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, ResourceVersion: strconv.Itoa(version)}}
}

func (w *world) cached(p *corev1.Pod) {
	w.pods[p.Name] = p
	w.observe(p)
}

func (w *world) deleted(p *corev1.Pod, version int) {
	delete(w.pods, p.Name)
	p = p.DeepCopy()
	p.ResourceVersion = strconv.Itoa(version)
	w.observe(p)
}

func (w *world) check(t *testing.T, when string, want bool) {
	t.Helper()
	if got, _ := w.Satisfied("rs"); got != want {
		t.Errorf("%s: satisfied = %v, want %v", when, got, want)
	}
}

func TestCreation(t *testing.T) {
	w := newWorld()
	w.check(t, "at the start", true)
	w.Created("rs", pod("a", "ua", 10))
	w.Created("rs", pod("b", "ub", 11))
	w.check(t, "before any event", false)
	w.cached(pod("b", "ub", 11)) // a relist lost a's event: that of b shows that a is deleted
	w.check(t, "after a newer event", true)
}

func TestCreationSeenBeforeTheResponse(t *testing.T) {
	w := newWorld()
	a := pod("a", "ua", 10)
	w.cached(a)
	w.Created("rs", a)
	w.check(t, "event came first", true)
	w.deleted(a, 12)
	w.Created("rs", a)
	w.check(t, "deletion came first", true)
}

func TestOtherVersionsDoNotSatisfy(t *testing.T) {
	w := newWorld()
	w.Created("rs", pod("a", "ua", 10))
	w.cached(pod("x", "ux", 9))
	w.check(t, "after an older event", false)
	w.cached(pod("a", "other", 5))
	w.check(t, "after a namesake", false)
	if ok, _ := w.Satisfied("another"); !ok {
		t.Error("another owner waits for this one's pod")
	}
}

func TestOpaqueVersionsNeedTheObject(t *testing.T) {
	w := newWorld()
	a := pod("a", "ua", 0)
	a.ResourceVersion = "opaque"
	w.Created("rs", a)
	w.cached(pod("x", "ux", 99))
	w.check(t, "after another object's event", false)
	w.cached(a)
	w.check(t, "after its own", true)
}

func TestDeletion(t *testing.T) {
	w := newWorld()
	a, b := pod("a", "ua", 10), pod("b", "ub", 11)
	w.cached(a)
	w.cached(b)
	w.Deleted("rs", a)
	w.Deleted("rs", b)
	w.check(t, "before any event", false)
	w.deleted(a, 12)
	w.check(t, "one of two", false)
	terminating := b.DeepCopy()
	terminating.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
	w.cached(terminating)
	w.check(t, "gone and terminating", true)
}

func TestExpiryAndForget(t *testing.T) {
	w := newWorld()
	w.Created("rs", pod("a", "ua", 10))
	w.clock.SetTime(w.clock.Now().Add(45 * time.Second))
	w.Created("rs", pod("b", "ub", 11))
	if ok, wait := w.Satisfied("rs"); ok || wait != 15*time.Second {
		t.Errorf("Satisfied = %v, %v; want false, 15s", ok, wait)
	}
	w.clock.SetTime(w.clock.Now().Add(15 * time.Second))
	w.check(t, "one of two expired", false)
	w.Forget("rs")
	w.check(t, "forgotten", true)
}

// A write that gets a response after its owner was deleted is forgotten, although nothing reads it.
func TestNothingIsKeptOfDeletedOwner(t *testing.T) {
	w := newWorld()
	w.Forget("rs")
	w.Created("rs", pod("a", "ua", 10))
	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	w.Created("other", pod("b", "ub", 11))
	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	w.observe(pod("x", "ux", 1))
	if len(w.owners) != 1 {
		t.Errorf("kept: %v", w.owners)
	}
	if ok, _ := w.Satisfied("other"); ok {
		t.Error("what has not ended was dropped")
	}
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.Created("third", pod("c", "uc", 12))
	if len(w.owners) != 1 {
		t.Errorf("kept: %v", w.owners)
	}
}

// A request without a response is resolved by reading the API; the cache must then be as new as the
// result.
func TestRequestWithoutResponse(t *testing.T) {
	w := newWorld()
	old, other := pod("old", "uo", 5), pod("other", "ux", 6)
	w.cached(old)
	w.cached(other)
	w.Doubt("rs", nil)
	w.Doubt("rs", old)
	w.check(t, "in doubt", false)
	w.cached(pod("x", "uz", 99))
	w.check(t, "in doubt, whatever the cache has seen", false)
	if !w.InDoubt("rs") || w.InDoubt("another") {
		t.Error("only rs is in doubt")
	}
	w.Resolve("rs", []metav1.Object{other, pod("a", "ua", 120)})
	w.check(t, "neither the creation nor the deletion is shown", false)
	w.cached(pod("a", "ua", 120))
	w.check(t, "the deletion is not shown", false)
	w.deleted(old, 121)
	w.check(t, "both are shown", true)
}

// A pod that changes after a creation without a response is expected in its changed version.
func TestRequestWithoutResponseNeedsTheVersionOfTheAPI(t *testing.T) {
	w := newWorld()
	w.Doubt("rs", nil)
	w.cached(pod("a", "ua", 10))
	w.Resolve("rs", []metav1.Object{pod("a", "ua", 12)})
	w.check(t, "an older version", false)
	w.cached(pod("a", "ua", 12))
	w.check(t, "this version", true)
	w.Doubt("rs", nil)
	w.Resolve("rs", nil)
	w.check(t, "nothing was made", true)
}

func TestRequestWithoutResponseOfDeletedOwnerIsForgotten(t *testing.T) {
	w := newWorld()
	w.Doubt("rs", nil)
	w.Forget("rs")
	w.check(t, "forgotten", true)
	w.Doubt("rs", nil)
	w.clock.SetTime(w.clock.Now().Add(doubtLife * time.Minute))
	w.observe(pod("x", "ux", 1))
	if len(w.doubts) != 0 {
		t.Errorf("kept: %v", w.doubts)
	}
}

// While the server is not available, written objects do not count as missing, however much time
// passes.
func TestExpectationsWithUnavailableServer(t *testing.T) {
	w := newWorld()
	reached := "8"
	w.Follow(func() string { return reached })
	old := pod("old", "uo", 5)
	w.cached(old)
	w.Created("rs", pod("a", "ua", 10))
	w.Deleted("rs", old)
	for range 3 {
		w.clock.SetTime(w.clock.Now().Add(90 * time.Second))
		if ok, wait := w.Satisfied("rs"); ok || wait != 30*time.Second && wait != time.Minute {
			t.Errorf("cut off: Satisfied = %v, %v", ok, wait)
		}
	}
	w.observe(pod("x", "ux", 1)) // removes expired entries
	reached = "9"
	w.check(t, "further, but not that far", false)
	reached = "10"
	w.check(t, "a was there and is gone, and so long after old was deleted it is still there", true)
}

func TestUnseenDeletionExpiresOnceTheCacheAdvances(t *testing.T) {
	w := newWorld()
	reached := "8"
	w.Follow(func() string { return reached })
	old := pod("old", "uo", 5)
	w.cached(old)
	w.Deleted("rs", old)
	reached = "9"
	w.check(t, "too early", false)
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.check(t, "after a minute", true)
}
