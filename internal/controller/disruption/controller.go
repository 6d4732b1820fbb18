package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

const (
	// gatherWindow is the delay after an event of a pod, so that several events cause one count.
	gatherWindow = 20 * time.Millisecond
	// noScaleWindow is the interval at which an owner without a scale is looked up again.
	noScaleWindow = 30 * time.Second
)

// errNoScale means that the controller of a pod does not state a number of pods.
var errNoScale = errors.New("found no controller with a scale")

// Key identifies a PodDisruptionBudget, or a pod with the condition DisruptionTarget.
type Key struct {
	Namespace   string
	Budget, Pod string
}

type budgetCache interface {
	objects.Getter[*policyv1.PodDisruptionBudget]
	objects.Namespaced[*policyv1.PodDisruptionBudget]
}

type podCache interface {
	objects.Getter[*core.Pod]
	objects.Namespaced[*core.Pod]
}

// scaler returns the number of pods that the owner of a pod requests. ok is false if the owner has
// no scale.
type scaler interface {
	ScaleOf(ctx context.Context, namespace string,
		owner *metav1.OwnerReference) (root types.UID, scale int32, ok bool, err error)
}

// Controller reconciles all PodDisruptionBudgets.
type Controller struct {
	budgets     budgetCache
	pods        podCache
	scales      scaler
	writeBudget objects.StatusUpdater[*policyv1.PodDisruptionBudget]
	writePod    objects.StatusUpdater[*core.Pod]
	events      reconciler.Recorder
	clock       clock.PassiveClock
	queue       reconciler.Queue[Key]
	run         func(context.Context) error
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	return c.run(ctx)
}

// Reconcile updates the status of a budget, or resets a stale condition DisruptionTarget of a pod.
func (c *Controller) Reconcile(ctx context.Context, key Key) error {
	if key.Pod != "" {
		return c.unmark(ctx, key)
	}
	b, ok := c.budgets.Get(key.Namespace, key.Budget)
	if !ok || b.DeletionTimestamp != nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return nil //nolint:nilerr // validation rejects such a selector
	}
	pods := selected(c.pods.InNamespace(b.Namespace), selector)
	counted, err := c.count(ctx, b, pods)
	if err != nil {
		return c.giveUp(ctx, b, err)
	}
	c.reportPods(b, pods, counted.Status)
	for _, pod := range counted.Late {
		c.events.Eventf(pod, corev1.EventTypeWarning, "NotDeleted",
			"The eviction that disruption budget %s has granted did not delete the pod", b.Name)
	}
	if counted.Again > 0 {
		c.queue.AddAfter(key, counted.Again)
	}
	return c.writeStatus(ctx, b, counted.Status)
}

// reportPods records events about a budget that selects no pods, or pods without a controller.
func (c *Controller) reportPods(
	b *policyv1.PodDisruptionBudget, pods []*core.Pod, status policyv1.PodDisruptionBudgetStatus,
) {
	if len(pods) == 0 && !equality.Semantic.DeepEqual(b.Status, status) {
		c.events.Eventf(b, corev1.EventTypeNormal, "NoPods", "No matching pods found")
	}
	if !NeedsScale(&b.Spec) {
		return
	}
	if unmanaged := unmanagedNames(pods); len(unmanaged) > 0 {
		c.events.Eventf(
			b,
			corev1.EventTypeWarning,
			"UnmanagedPods",
			"%d of %d pods have no controller and are not counted (%s): set "+
				"spec.minAvailable to a number of pods to have them counted",
			len(unmanaged),
			len(pods),
			listed(unmanaged),
		)
	}
}

// unmanagedNames returns the names of the pods that have no controller.
func unmanagedNames(pods []*core.Pod) []string {
	var names []string
	for _, pod := range pods {
		if metav1.GetControllerOfNoCopy(pod) == nil {
			names = append(names, pod.Name)
		}
	}
	return names
}

// listed returns the first few names.
func listed(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// giveUp reports that the pods of a budget cannot be counted. An owner that gets a scale later
// causes no event.
func (c *Controller) giveUp(ctx context.Context, b *policyv1.PodDisruptionBudget, why error) error {
	status := Unknown(b, why, c.clock.Now())
	if !equality.Semantic.DeepEqual(b.Status, status) {
		c.events.Eventf(b, corev1.EventTypeWarning, "CalculateExpectedPodCountFailed",
			"Cannot tell how many pods are expected: %v", why)
	}
	if errors.Is(why, errNoScale) {
		c.queue.AddAfter(Key{Namespace: b.Namespace, Budget: b.Name}, noScaleWindow)
		why = nil
	}
	return errors.Join(why, c.writeStatus(ctx, b, status))
}

// selected returns the selected pods, sorted by name so that messages are stable.
func selected(pods []*core.Pod, selector labels.Selector) []*core.Pod {
	var out []*core.Pod
	for _, pod := range pods {
		if selector.Matches(labels.Set(pod.Labels)) {
			out = append(out, pod)
		}
	}
	slices.SortFunc(out, func(a, b *core.Pod) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (c *Controller) count(ctx context.Context, b *policyv1.PodDisruptionBudget, pods []*core.Pod) (Counted, error) {
	var scale int32
	if NeedsScale(&b.Spec) {
		var err error
		if scale, err = c.scale(ctx, pods); err != nil {
			return Counted{}, err
		}
	}
	expected, wanted, err := Wanted(&b.Spec, int32(len(pods)), scale)
	if err != nil {
		return Counted{}, err
	}
	return Count(b, pods, expected, wanted, c.clock.Now()), nil
}

// scale returns the sum of the pods that the owners of pods request. Pods without an owner do not
// count.
func (c *Controller) scale(ctx context.Context, pods []*core.Pod) (int32, error) {
	seen, roots := map[types.UID]bool{}, map[types.UID]bool{}
	var sum int32
	for _, pod := range pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || seen[owner.UID] {
			continue
		}
		seen[owner.UID] = true
		root, n, ok, err := c.scales.ScaleOf(ctx, pod.Namespace, owner)
		switch {
		case err != nil:
			return 0, fmt.Errorf("scale of %s %s: %w", owner.Kind, owner.Name, err)
		case !ok:
			return 0, fmt.Errorf("pod %s: %w", pod.Name, errNoScale)
		case !roots[root]:
			roots[root] = true
			sum += n
		}
	}
	return sum, nil
}

func (c *Controller) writeStatus(
	ctx context.Context, b *policyv1.PodDisruptionBudget, status policyv1.PodDisruptionBudgetStatus,
) error {
	if equality.Semantic.DeepEqual(b.Status, status) {
		return nil
	}
	updated := *b // other fields of the cached object are shared and only read
	updated.Status = status
	if _, err := c.writeBudget.UpdateStatus(ctx, &updated); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("disruption budget %s/%s: status: %w", b.Namespace, b.Name, err)
	}
	return nil
}

func (c *Controller) unmark(ctx context.Context, key Key) error {
	pod, ok := c.pods.Get(key.Namespace, key.Pod)
	if !ok {
		return nil
	}
	stale, after := StaleMark(pod, c.clock.Now())
	if !stale {
		if after > 0 {
			c.queue.AddAfter(key, after)
		}
		return nil
	}
	if _, err := c.writePod.UpdateStatus(ctx, Unmarked(pod, c.clock.Now())); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("pod %s/%s: status: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}
