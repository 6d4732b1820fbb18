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
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// Verdict is the eviction of a pod at some time because of taints.
type Verdict struct {
	At     time.Time
	Causes string // origin of the taints, for messages
	// Expired means that a toleration had expired before the pod was scheduled.
	Expired bool
	Rules   map[types.UID]bool // UIDs of the rules that contributed
}

// Words are the texts of a controller.
type Words struct {
	Event     string // reason of events
	Condition string // reason of the condition DisruptionTarget
	CalledOff string // message if the eviction is canceled
}

// Server makes the writes. All of them have a UID precondition.
type Server interface {
	// MarkDisrupted sets a condition of the pod, unless the pod has changed.
	MarkDisrupted(ctx context.Context, pod *core.Pod, condition corev1.PodCondition) error
	objects.Deleter[*core.Pod]
}

// Limiter delays deletions.
type Limiter interface {
	Wait(ctx context.Context) error
}

// Config configures an Evictor.
type Config struct {
	Pods  objects.Getter[*core.Pod]
	Judge func(pod *core.Pod) (Verdict, bool) // returns false if the pod is not evicted
	// Confirm reports whether the pod is still evicted by what the API has now. It is called before a
	// pod is evicted, if it is not nil.
	Confirm func(ctx context.Context, pod *core.Pod) (bool, error)
	Server  Server
	Limit   Limiter
	Events  reconciler.Recorder
	Clock   clock.PassiveClock
	Words   Words
	// Finished means that finished pods are evicted too.
	Finished bool
	// Changed is called with verdicts that were added, changed or removed, Evicted with those
	// carried out. Both may be nil.
	Changed func(...Verdict)
	Evicted func(Verdict)
}

// Evictor evicts pods. Its keys come from a queue, which must be set before the first reconcile.
type Evictor struct {
	Config
	Queue reconciler.Queue[types.NamespacedName]

	mu      sync.Mutex // guards the fields below
	pending map[types.NamespacedName]pending
	evicted map[types.UID]bool // deleted pods, until the cache shows the deletion
}

// pending is a pod that will be evicted.
type pending struct {
	pod     types.UID
	verdict Verdict
	warned  bool
}

// New returns an Evictor.
func New(config Config) *Evictor {
	if config.Changed == nil {
		config.Changed = func(...Verdict) {}
	}
	if config.Evicted == nil {
		config.Evicted = func(Verdict) {}
	}
	return &Evictor{Config: config, pending: map[types.NamespacedName]pending{}, evicted: map[types.UID]bool{}}
}

// Evictable reports whether the pod is bound, has not finished and is not being deleted.
func Evictable(pod *core.Pod) bool {
	return pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && !claims.PodDone(pod)
}

func (e *Evictor) isEvictable(pod *core.Pod) bool {
	return Evictable(pod) || e.Finished && pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil
}

// ScheduledAt returns when the pod was bound, to the second. For a pod created with a node it is
// the time of creation, unless the condition is set.
func ScheduledAt(pod *core.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

// Seconds converts seconds to a Duration: negative values to 0, and large ones to the maximum.
func Seconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(time.Second))) * time.Second
}

// Reconcile evicts the pod if that is due, and otherwise schedules the next reconcile.
func (e *Evictor) Reconcile(ctx context.Context, key types.NamespacedName) error {
	pod, ok := e.Pods.Get(key.Namespace, key.Name)
	if !ok || !e.isEvictable(pod) {
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
			e.Events.Eventf(
				pod,
				corev1.EventTypeWarning,
				e.Words.Event,
				"tolerationSeconds were over before the pod was scheduled: it is evicted in %s, because of %s",
				wait.Round(time.Second),
				v.Causes,
			)
		}
		e.Queue.AddAfter(key, wait)
		return nil
	}
	return e.evict(ctx, key, pod, v)
}

// evict marks the pod and deletes it, subject to the limiter.
func (e *Evictor) evict(ctx context.Context, key types.NamespacedName, pod *core.Pod, v Verdict) error {
	if err := e.Limit.Wait(ctx); err != nil {
		return err
	}
	if e.Confirm != nil {
		switch evicts, err := e.Confirm(ctx, pod); {
		case err != nil:
			return fmt.Errorf("evict pod %s: %w", key, err)
		case !evicts: // the caches will show it
			e.forget(key)
			return nil
		}
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
		err = e.Server.Delete(ctx, pod)
	}
	switch {
	case apierrors.IsNotFound(err):
		e.forget(key)
		return nil
	case err != nil: // after a conflict as well: the cache will show whether the pod was replaced
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

// marked reports whether an earlier process started to evict the pod. The time of its condition is
// kept.
func marked(pod *core.Pod, condition corev1.PodCondition) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == condition.Type && c.Status == condition.Status && c.Reason == condition.Reason
	})
}

// WasEvicted reports whether this process deleted the pod.
func (e *Evictor) WasEvicted(pod *core.Pod) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.evicted[pod.UID]
}

// OnPod drops the state of a deleted pod. Controllers call it with the events of their cache.
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

// note records a verdict, and reports whether it is the first for the pod.
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

// forget drops the verdict on a pod, and returns the UID of the pod, or "" if there was none.
func (e *Evictor) forget(key types.NamespacedName) types.UID {
	e.mu.Lock()
	old := e.pending[key]
	delete(e.pending, key)
	e.mu.Unlock()
	e.Changed(old.verdict)
	return old.pod
}
