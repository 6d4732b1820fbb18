package eviction

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// Verdict is what taints do to a pod: at some time it is evicted.
type Verdict struct {
	At     time.Time
	Causes string // where the taints come from, for people
	// Expired: a toleration that would have left time was over before the pod was scheduled.
	Expired bool
	Rules   map[types.UID]bool // objects that have a part in it, for those who count by them
}

// Words are how a controller calls what it does.
type Words struct {
	Event     string // reason of events
	Condition string // reason of the condition DisruptionTarget
	CalledOff string // what a pod hears that stays after all
}

// Server is what is written to. All writes name the pod's UID.
type Server interface {
	// MarkDisrupted gives the pod a condition, unless it has changed since it was seen.
	MarkDisrupted(ctx context.Context, pod *core.Pod, condition corev1.PodCondition) error
	DeletePod(ctx context.Context, pod *core.Pod) error
}

// Limiter delays deletions.
type Limiter interface {
	Wait(ctx context.Context) error
}

// Config is what an Evictor works with.
type Config struct {
	Pods interface {
		Get(namespace, name string) (*core.Pod, bool)
	}
	Judge  func(pod *core.Pod) (Verdict, bool) // false: nothing evicts it
	Server Server
	Limit  Limiter
	Events reconciler.Recorder
	Clock  clock.PassiveClock
	Words  Words
	// Changed is told of verdicts that came, changed or went, Evicted of one that was carried out; nil: nobody.
	Changed func(...Verdict)
	Evicted func(Verdict)
}

// Evictor evicts pods. Keys of pods come to it through a queue, which is set before the first one does.
type Evictor struct {
	Config
	Queue reconciler.Queue[types.NamespacedName]

	mu      sync.Mutex // guards the fields below
	pending map[types.NamespacedName]pending
	evicted map[types.UID]bool // pods that were deleted, until the cache shows that they are gone
}

// pending is a pod that is to be evicted.
type pending struct {
	pod     types.UID
	verdict Verdict
	warned  bool
}

// New makes an Evictor.
func New(config Config) *Evictor {
	if config.Changed == nil {
		config.Changed = func(...Verdict) {}
	}
	if config.Evicted == nil {
		config.Evicted = func(Verdict) {}
	}
	return &Evictor{Config: config, pending: map[types.NamespacedName]pending{}, evicted: map[types.UID]bool{}}
}

// Evictable tells whether the pod is there to be evicted.
func Evictable(pod *core.Pod) bool {
	return pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && !claims.PodDone(pod)
}

// ScheduledAt is when the pod was bound, to the second. One that was made for a node has been there since it was made, though
// nobody has said so yet.
func ScheduledAt(pod *core.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

// Seconds is the time that somebody gives in seconds: none if it is negative, and no more than a Duration can be.
func Seconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(time.Second))) * time.Second
}

// Reconcile evicts a pod if that is due, and sees to it that it is looked at when it will be.
func (e *Evictor) Reconcile(ctx context.Context, key types.NamespacedName) error {
	pod, ok := e.Pods.Get(key.Namespace, key.Name)
	if !ok || !Evictable(pod) {
		e.forget(key)
		return nil
	}
	if e.WasEvicted(pod) {
		return nil
	}
	v, ok := e.Judge(pod)
	if !ok {
		if e.forget(key) == pod.UID {
			e.Events.Eventf(pod, corev1.EventTypeNormal, e.Words.Event, "%s", e.Words.CalledOff)
		}
		return nil
	}
	first := e.note(key, pod, v)
	if wait := v.At.Sub(e.Clock.Now()); wait > 0 {
		if first && v.Expired {
			e.Events.Eventf(pod, corev1.EventTypeWarning, e.Words.Event,
				"tolerationSeconds were over before the pod was scheduled: it is evicted in %s, because of %s", wait.Round(time.Second), v.Causes)
		}
		e.Queue.AddAfter(key, wait)
		return nil
	}
	return e.evict(ctx, key, pod, v)
}

// evict marks the pod and deletes it, when its turn has come.
func (e *Evictor) evict(ctx context.Context, key types.NamespacedName, pod *core.Pod, v Verdict) error {
	if err := e.Limit.Wait(ctx); err != nil {
		return err
	}
	condition := corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: e.Words.Condition,
		Message: "evicted because of a NoExecute taint: " + v.Causes,
	}
	var err error
	if !marked(pod, condition) {
		err = e.Server.MarkDisrupted(ctx, pod, condition)
	}
	if err == nil {
		err = e.Server.DeletePod(ctx, pod)
	}
	switch {
	case apierrors.IsNotFound(err):
		e.forget(key)
		return nil
	case err != nil: // after a conflict, too: the cache will show whether it is another pod by now
		return fmt.Errorf("evict pod %s: %w", key, err)
	}
	e.Events.Eventf(pod, corev1.EventTypeNormal, e.Words.Event, "evicted because of a NoExecute taint: %s", v.Causes)
	e.mu.Lock()
	delete(e.pending, key)
	e.evicted[pod.UID] = true
	e.mu.Unlock()
	e.Evicted(v)
	return nil
}

// marked tells whether a pod was to be evicted before, by a process that did not get further or did not hear of the answer: when
// that was stays.
func marked(pod *core.Pod, condition corev1.PodCondition) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == condition.Type && c.Status == condition.Status && c.Reason == condition.Reason
	})
}

// WasEvicted tells whether this very pod was deleted here.
func (e *Evictor) WasEvicted(pod *core.Pod) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.evicted[pod.UID]
}

// OnPod drops the memory of a pod that is gone. Controllers hand it the events of their cache.
func (e *Evictor) OnPod(before, after *core.Pod) {
	if before == nil || after != nil && after.UID == before.UID {
		return
	}
	key := reconciler.KeyOf(before)
	e.mu.Lock()
	delete(e.evicted, before.UID)
	due := e.pending[key].pod == before.UID
	e.mu.Unlock()
	if due {
		e.forget(key)
	}
}

// note keeps a verdict, and tells whether the pod had none that warned of it.
func (e *Evictor) note(key types.NamespacedName, pod *core.Pod, v Verdict) bool {
	e.mu.Lock()
	old := e.pending[key]
	if old.pod != pod.UID {
		old = pending{}
	}
	e.pending[key] = pending{pod: pod.UID, verdict: v, warned: v.Expired}
	e.mu.Unlock()
	e.Changed(old.verdict, v)
	return !old.warned
}

// forget drops the verdict on a pod, and gives the UID of the pod, "" if there was none.
func (e *Evictor) forget(key types.NamespacedName) types.UID {
	e.mu.Lock()
	old := e.pending[key]
	delete(e.pending, key)
	e.mu.Unlock()
	e.Changed(old.verdict)
	return old.pod
}
