package scheduler

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/groups"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/preempt"
)

// eviction is the eviction of the victims of one preemption.
type eviction struct {
	preemptor preemptor
	pods      []*model.Pod
	groups    []*model.Group // groups that are evicted as a whole
	trees     []*model.Tree  // trees that are evicted as a whole, with the groups below them
	// relocation: the pods are the remaining members of the preemptor, which is placed as a whole
	// elsewhere.
	relocation bool
	remaining  map[model.Key]types.UID
	written    bool
	done       func() // called when all pods were seen to terminate
}

// cause returns the cause of the eviction for metrics.
func (e *eviction) cause() string {
	if e.relocation {
		return causeRelocation
	}
	return causePreemption
}

// preemptor is the unit for which pods are evicted. It has no name if the process that selected the
// victims has ended.
type preemptor struct {
	kind      string
	namespace string
	name      string
	uid       types.UID
	priority  int32
}

func evictionOf(unit *model.Unit, made *preempt.Result) *eviction {
	e := &eviction{remaining: map[model.Key]types.UID{}}
	e.preemptor = preemptor{
		kind:      "pod",
		namespace: unit.Key.Key.Namespace,
		name:      unit.Key.Key.Name,
		priority:  unit.Priority,
	}
	switch {
	case unit.Group != nil:
		e.preemptor.kind, e.preemptor.uid = "PodGroup", unit.Group.UID
	case unit.Tree != nil:
		e.preemptor.kind, e.preemptor.uid = "CompositePodGroup", unit.Tree.Composite.UID
	default:
		e.preemptor.uid = unit.Pods[0].UID
	}
	e.groups = made.Groups()
	for i := range made.Victims {
		v := &made.Victims[i]
		if v.Tree != nil {
			e.trees = append(e.trees, v.Tree)
		}
		for _, pod := range v.Pods {
			e.add(pod)
		}
	}
	return e
}

// evictionOfSurvivors returns the eviction of the remaining members of a gang that has lost others.
func evictionOfSurvivors(unit *model.Unit, survivors []*model.Pod) *eviction {
	e := &eviction{remaining: map[model.Key]types.UID{}, relocation: true}
	e.preemptor = preemptor{
		kind:      "PodGroup",
		namespace: unit.Key.Key.Namespace,
		name:      unit.Key.Key.Name,
		uid:       unit.Group.UID,
		priority:  unit.Priority,
	}
	for _, pod := range survivors {
		e.add(pod)
	}
	return e
}

func (e *eviction) add(pod *model.Pod) {
	e.pods = append(e.pods, pod)
	e.remaining[pod.Key] = pod.UID
}

// describe names the preemptor in a message for objects of a namespace. For other namespaces than
// its own it is identified by UID alone.
func (p *preemptor) describe(namespace string) string {
	switch {
	case p.name == "":
		return "a pod of higher priority"
	case p.namespace != namespace:
		return fmt.Sprintf("%s with UID %s in another namespace (priority %d)", p.kind, p.uid, p.priority)
	}
	return fmt.Sprintf("%s %s (priority %d)", p.kind, p.name, p.priority)
}

// evictionWrites limits the concurrent writes of one eviction.
const evictionWrites = 32

// evictions evicts pods: all victims get a condition before any is deleted, so that the next
// scheduler can complete an eviction after a crash.
type evictions struct {
	pods      podWriter
	podGroups groupWriter
	trees     compositeWriter
	evict     evictor
	cache     cluster.PodCache
	events    reconciler.Recorder
	clock     clock.PassiveClock
	name      string // name of the scheduler
}

func (w *evictions) write(ctx context.Context, e *eviction) error {
	err := forEachPod(ctx, e.pods, func(ctx context.Context, pod *model.Pod) error {
		if pod.Victim {
			return nil
		}
		return w.mark(ctx, pod, w.message(e, pod.Key.Namespace))
	})
	for _, group := range e.groups {
		if err == nil {
			err = w.markGroup(ctx, group, w.message(e, group.Key.Namespace))
		}
	}
	for _, tree := range e.trees {
		for composite := range tree.Composites {
			if err == nil {
				err = w.markComposite(ctx, composite, w.message(e, composite.Key.Namespace))
			}
		}
	}
	if err != nil {
		return err
	}
	return forEachPod(ctx, e.pods, func(ctx context.Context, pod *model.Pod) error {
		seen, known := w.cache.Get(pod.Key.Namespace, pod.Key.Name)
		if err := w.evict.Evict(ctx, pod); err != nil {
			return err
		}
		if known && seen.UID == pod.UID {
			w.events.Eventf(seen, corev1.EventTypeNormal, "Preempted", "%s", e.event(pod))
		}
		return nil
	})
}

func forEachPod(ctx context.Context, pods []*model.Pod, do func(context.Context, *model.Pod) error) error {
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(evictionWrites)
	for _, pod := range pods {
		tasks.Go(func() error { return do(ctx, pod) })
	}
	return tasks.Wait()
}

// event returns the text of the event of an evicted pod.
func (e *eviction) event(pod *model.Pod) string {
	if e.relocation {
		return fmt.Sprintf("Evicted from node %s: %s has fewer pods than its minCount, and is placed elsewhere as a whole",
			pod.Node, e.preemptor.describe(pod.Key.Namespace))
	}
	return fmt.Sprintf("Preempted by %s on node %s", e.preemptor.describe(pod.Key.Namespace), pod.Node)
}

func (w *evictions) message(e *eviction, namespace string) string {
	if e.relocation {
		return fmt.Sprintf("%s: %s has fewer pods than its minCount, and is placed elsewhere as a whole", w.name,
			e.preemptor.describe(namespace))
	}
	return fmt.Sprintf("%s: preempting to make room for %s", w.name, e.preemptor.describe(namespace))
}

// markAttempts limits the attempts to write a pod or PodGroup that others write too.
const markAttempts = 5

// mark writes the condition DisruptionTarget of a victim. An existing condition is kept: the
// response to an earlier write was lost.
func (w *evictions) mark(ctx context.Context, chosen *model.Pod, message string) error {
	pod, known := w.cache.Get(chosen.Key.Namespace, chosen.Key.Name)
	for attempt := 1; ; attempt++ {
		if !known || attempt > 1 {
			var err error
			if pod, err = w.pods.ReadPod(ctx, chosen.Key); err != nil || pod == nil {
				return err
			}
		}
		if _, marked := groups.Victim(pod); marked || pod.UID != chosen.UID {
			return nil
		}
		err := w.markSeen(ctx, pod, message)
		if !apierrors.IsConflict(err) || attempt == markAttempts {
			return err
		}
	}
}

// markSeen writes the condition if the pod has not changed.
func (w *evictions) markSeen(ctx context.Context, pod *core.Pod, message string) error {
	condition := corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		Message:            message,
		LastTransitionTime: metav1.NewTime(w.clock.Now()),
	}
	key := model.Key{Namespace: pod.Namespace, Name: pod.Name}
	patch, err := client.StatusPatchOfVersion(pod, map[string]any{"conditions": []corev1.PodCondition{condition}})
	if err != nil {
		return fmt.Errorf("condition of pod %s: %w", key, err)
	}
	return w.pods.PatchPod(ctx, key, patch)
}

// markGroup writes the condition of a PodGroup that is evicted as a whole, and emits an event.
func (w *evictions) markGroup(ctx context.Context, chosen *model.Group, message string) error {
	return retryConflicts(func() error {
		group, err := w.podGroups.ReadGroup(ctx, chosen.Key)
		if err != nil || group == nil || group.UID != chosen.UID {
			return err
		}
		conditions, changed := groups.Disrupted(group.Generation, group.Status.Conditions, message, w.now())
		if !changed {
			return nil
		}
		group = group.DeepCopy()
		group.Status.Conditions = conditions
		if err = w.podGroups.WriteGroup(ctx, group); err == nil {
			w.events.Eventf(group, corev1.EventTypeNormal, "Preempted", "%s", message)
		}
		return err
	})
}

// markComposite writes the condition of a CompositePodGroup that is evicted as a whole, and emits an
// event.
func (w *evictions) markComposite(ctx context.Context, chosen *model.Composite, message string) error {
	return retryConflicts(func() error {
		group, err := w.trees.ReadComposite(ctx, chosen.Key)
		if err != nil || group == nil || group.UID != chosen.UID {
			return err
		}
		conditions, changed := groups.Disrupted(group.Generation, group.Status.Conditions, message, w.now())
		if !changed {
			return nil
		}
		group = group.DeepCopy()
		group.Status.Conditions = conditions
		if err = w.trees.WriteComposite(ctx, group); err == nil {
			w.events.Eventf(group, corev1.EventTypeNormal, "Preempted", "%s", message)
		}
		return err
	})
}

func (w *evictions) now() metav1.Time { return metav1.NewTime(w.clock.Now()) }

// retryConflicts repeats a write of an object that others write, too.
func retryConflicts(write func() error) error {
	for attempt := 1; ; attempt++ {
		if err := write(); !apierrors.IsConflict(err) || attempt == markAttempts {
			return err
		}
	}
}
