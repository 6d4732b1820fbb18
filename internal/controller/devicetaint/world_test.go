package devicetaint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/claims/claimstest"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

// world is the server, the caches, the queues, the clock and the event recorder of a controller.
type world struct {
	controller *Controller
	pods       *memcache.Cache[*core.Pod]
	claims     *memcache.Cache[*resource.ResourceClaim]
	slices     *memcache.Cache[*resourcev1.ResourceSlice]
	rules      *memcache.Cache[*resourcev1.DeviceTaintRule]
	newer      map[string]*resource.ResourceClaim // claims that the cache does not show yet
	clock      *testclock.FakeClock
	ready      []any // keys to process: of pods, or names of rules
	later      []delayed
	fails      int  // number of deletions that fail
	lags       bool // the cache does not show yet which pods were deleted
	waits      int  // number of waits for the limiter
	log        []string
}

type delayed struct {
	at  time.Time
	key any
}

func newWorld(t *testing.T) *world {
	w := &world{
		pods: memcache.New[*core.Pod](), claims: memcache.New[*resource.ResourceClaim](),
		slices: memcache.New[*resourcev1.ResourceSlice](), rules: memcache.New[*resourcev1.DeviceTaintRule](),
		newer: map[string]*resource.ResourceClaim{},
		clock: testclock.NewFakeClock(time.Unix(0, 0)),
	}
	for _, err := range []error{
		w.pods.AddIndex(claims.PodIndex, claims.PodIndexKeys), w.claims.AddIndex(claimsByPool, claimKeys),
		w.slices.AddIndex(slicesByPool, sliceKeys),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c := newController(caches{w.pods, w.claims, w.slices, w.rules}, w, w, w, Options{Clock: w.clock}.withDefaults())
	c.evictor.Queue, c.reports = podQueue{w}, ruleQueue{w}
	w.controller = c
	w.pods.OnChange(c.onPod)
	w.claims.OnChange(c.onClaim)
	w.slices.OnChange(c.onSlice)
	w.rules.OnChange(c.onRule)
	return w
}

type podQueue struct{ *world }

func (q podQueue) Add(key types.NamespacedName) { q.add(key) }

func (q podQueue) AddAfter(key types.NamespacedName, d time.Duration) { q.addAfter(key, d) }

type ruleQueue struct{ *world }

func (q ruleQueue) Add(name string) { q.add(name) }

func (q ruleQueue) AddAfter(name string, d time.Duration) { q.addAfter(name, d) }

func (w *world) add(key any) {
	if !slices.Contains(w.ready, key) {
		w.ready = append(w.ready, key)
	}
}

func (w *world) addAfter(key any, d time.Duration) {
	w.later = append(w.later, delayed{w.clock.Now().Add(d), key})
}

// work processes all ready keys, those of rules after those of pods.
func (w *world) work(t *testing.T) {
	for round := 0; len(w.ready) > 0; round++ {
		if round > 100_000 {
			t.Fatal("does not come to rest")
		}
		i := max(0, slices.IndexFunc(w.ready, func(key any) bool { _, pod := key.(types.NamespacedName); return pod }))
		key := w.ready[i]
		w.ready = slices.Delete(w.ready, i, i+1)
		var err error
		if pod, ok := key.(types.NamespacedName); ok {
			err = w.controller.evictor.Reconcile(context.Background(), pod)
		} else {
			err = w.controller.reconcileRule(context.Background(), key.(string))
		}
		if err != nil {
			w.logf("again: %v", err)
			w.add(key)
		}
	}
}

// pass advances the clock, and enqueues the delayed keys.
func (w *world) pass(t *testing.T, d time.Duration) {
	end := w.clock.Now().Add(d)
	for {
		next := -1
		for i, l := range w.later {
			if !l.at.After(end) && (next < 0 || l.at.Before(w.later[next].at)) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		due := w.later[next]
		w.later = slices.Delete(w.later, next, next+1)
		if due.at.After(w.clock.Now()) {
			w.clock.SetTime(due.at)
		}
		w.add(due.key)
		w.work(t)
	}
	w.clock.SetTime(end)
}

func (w *world) logf(format string, args ...any) {
	at := w.clock.Since(time.Unix(0, 0)).Round(time.Second)
	w.log = append(w.log, fmt.Sprintf("%s: ", at)+fmt.Sprintf(format, args...))
}

func (w *world) flush() string {
	out := strings.Join(w.log, "\n")
	w.log = nil
	if out == "" {
		return "nothing\n"
	}
	return out + "\n"
}

func (w *world) put(objects *claimstest.World) {
	for _, claim := range objects.Claims {
		w.claims.Put(claim)
	}
	for _, pod := range objects.Pods {
		w.pods.Put(pod)
	}
}

// putRule writes a rule as the server would, with its generation and the time of the effect.
func (w *world) putRule(rule *resourcev1.DeviceTaintRule) {
	rule.UID, rule.Generation = types.UID(rule.Name+"-uid"), 1
	if old, ok := w.rules.Get("", rule.Name); ok {
		rule.Generation, rule.Status = old.Generation+1, old.Status
	}
	if rule.Spec.Taint.TimeAdded == nil {
		rule.Spec.Taint.TimeAdded = ptr.To(metav1.NewTime(w.clock.Now()))
	}
	w.rules.Put(rule)
}

// Wait implements the limiter.
func (w *world) Wait(context.Context) error {
	w.waits++
	return nil
}

func (w *world) MarkDisrupted(_ context.Context, pod *core.Pod, condition corev1.PodCondition) error {
	w.logf("mark %s: %s %s: %s", pod.Name, condition.Type, condition.Reason, condition.Message)
	pod = pod.DeepCopy()
	pod.Status.Conditions = append(pod.Status.Conditions, condition)
	w.pods.Put(pod)
	return nil
}

func (w *world) Delete(_ context.Context, pod *core.Pod) error {
	if w.fails > 0 {
		w.fails--
		return errors.New("the connection is lost")
	}
	now, ok := w.pods.Get(pod.Namespace, pod.Name)
	if !ok || now.UID != pod.UID {
		return apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	}
	w.logf("delete %s", pod.Name)
	if w.lags {
		return nil
	}
	now = now.DeepCopy()
	now.DeletionTimestamp = ptr.To(metav1.NewTime(w.clock.Now()))
	w.pods.Put(now)
	return nil
}

func (w *world) LiveClaim(_ context.Context, namespace, name string) (*resource.ResourceClaim, error) {
	if claim, ok := w.newer[name]; ok {
		return claim, nil
	}
	claim, ok := w.claims.Get(namespace, name)
	if !ok {
		return nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), name)
	}
	return claim, nil
}

func (w *world) UpdateRuleStatus(_ context.Context, rule *resourcev1.DeviceTaintRule) error {
	for _, c := range rule.Status.Conditions {
		w.logf("rule %s: %s %s %s: %s", rule.Name, c.Type, c.Status, c.Reason, c.Message)
	}
	w.rules.Put(rule)
	return nil
}

func (w *world) Eventf(object runtime.Object, eventtype, _, messageFmt string, args ...any) {
	w.logf("event on %s: %s: %s", object.(metav1.Object).GetName(), eventtype, fmt.Sprintf(messageFmt, args...))
}
