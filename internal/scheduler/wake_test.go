package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/preempt"
	"github.com/allot-dev/allot/internal/sched/queue"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

// wakeWorld is a scheduler that only decides: what it would write is dropped. Objects of every kind
// change one field at a time, and after each change every parked unit must still be one that cannot
// be placed.
type wakeWorld struct {
	t       *rapid.T
	s       *Scheduler
	kinds   []changer
	version int
	history []string
	waitFor map[model.UnitKey]string // why each unit was parked, and for what
}

// changer makes one random change of one object of its kind.
type changer interface {
	fill(w *wakeWorld)
	change(w *wakeWorld) string
}

// edit redraws one field of an object.
type edit[T any] struct {
	field string
	draw  func(w *wakeWorld, object T)
	// created: the field is set when the object is made, and never changes.
	created bool
}

// objectsOf are the objects of one kind, of which each may exist or not.
type objectsOf[T metav1.Object] struct {
	cache *memcache.Cache[T]
	names []model.Key
	make  func(metav1.ObjectMeta) T
	copy  func(T) T
	edits []edit[T]
}

func (o *objectsOf[T]) create(w *wakeWorld, key model.Key) string {
	w.version++
	object := o.make(metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, UID: types.UID(fmt.Sprint("uid-", w.version)),
		ResourceVersion: strconv.Itoa(w.version), CreationTimestamp: metav1.NewTime(time.Unix(int64(w.version), 0)),
	})
	for _, e := range o.edits {
		e.draw(w, object)
	}
	o.cache.Put(object)
	return fmt.Sprintf("create %T %s: %s", object, key, show(object))
}

func (o *objectsOf[T]) fill(w *wakeWorld) {
	for _, key := range o.names {
		if rapid.IntRange(0, 4).Draw(w.t, "exists") > 0 {
			w.history = append(w.history, o.create(w, key))
		}
	}
}

func (o *objectsOf[T]) change(w *wakeWorld) string {
	key := rapid.SampledFrom(o.names).Draw(w.t, "object")
	old, exists := o.cache.Get(key.Namespace, key.Name)
	if !exists {
		return o.create(w, key)
	}
	switch rapid.IntRange(0, 9).Draw(w.t, "action") {
	case 0:
		o.cache.Delete(key.Namespace, key.Name)
		return fmt.Sprintf("delete %T %s", old, key)
	case 1:
		o.cache.Delete(key.Namespace, key.Name)
		return "re" + o.create(w, key)
	}
	var edits []edit[T]
	for _, e := range o.edits {
		if !e.created {
			edits = append(edits, e)
		}
	}
	e := rapid.SampledFrom(edits).Draw(w.t, "field")
	object := o.copy(old)
	w.version++
	object.SetResourceVersion(strconv.Itoa(w.version))
	e.draw(w, object)
	o.cache.Put(object)
	return fmt.Sprintf("%s of %T %s: %s", e.field, object, key, show(object))
}

func newWakeWorld(t *rapid.T) *wakeWorld {
	w := &wakeWorld{t: t, waitFor: map[model.UnitKey]string{}}
	caches := w.caches()
	s, err := newScheduler(parts{
		caches: caches, clock: testclock.NewFakeClock(time.Unix(1000, 0)),
		commit: func(commit.Cache) committer { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.runConcurrently = func(func()) {}
	queue := &keyQueue{clock: testclock.NewFakeClock(time.Unix(1000, 0)), due: map[model.Key]time.Time{}}
	s.status.groups.queue, s.status.pods.queue = queue, queue
	w.s = s
	for _, kind := range w.kinds {
		kind.fill(w)
	}
	return w
}

// settle tries all that is in line. What cannot be placed is parked; what can be stays in line.
func (w *wakeWorld) settle() {
	w.s.applyEvents(context.Background())
	var again []queue.Entry
	for {
		entry, ok := w.s.queue.Pop()
		if !ok {
			break
		}
		unit, ok := w.s.state.Unit(entry.Key)
		if !ok {
			continue
		}
		reasons, waits, placeable := attempt(w.s.placer, unit)
		switch {
		case placeable:
			again = append(again, entry)
			continue
		case waits != nil:
			w.s.waitForVictims(entry, waits, reasons)
		default:
			w.s.park(entry, reasons)
		}
		w.waitFor[entry.Key] = fmt.Sprintf("%s; waits for %v", reasons, reasons.Topics())
	}
	for _, entry := range again {
		w.s.queue.Add(entry)
	}
}

// attempt reports whether a unit can be placed, as it is or by preemption; or it returns the
// preemption that waits for pods which terminate.
func attempt(placer *sched.Placer, unit *model.Unit) (reasons *sched.Reasons, waits *preempt.Result, placeable bool) {
	plan, reasons := placer.Place(unit)
	if plan != nil {
		return reasons, nil, true
	}
	made := placer.Preempt(unit, reasons, preempt.Input{Now: time.Unix(1000, 0)})
	if made != nil && len(made.Victims) > 0 {
		return reasons, nil, true
	}
	return reasons, made, false
}

// check holds that no parked unit can be placed by a scheduler that knows nothing but the State.
func (w *wakeWorld) check(what string) {
	parked := w.s.queue.Parked()
	slices.SortFunc(parked, func(a, b model.UnitKey) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range parked {
		unit, ok := w.s.state.Unit(key)
		if !ok {
			continue
		}
		if _, _, placeable := attempt(sched.NewPlacer(w.s.state, sched.DefaultSteps), unit); placeable {
			text := ""
			for _, line := range w.history {
				text += line + "\n"
			}
			w.t.Fatalf("%v can be placed, and was not woken by: %s\nit said: %s\n\nbefore:\n%s", key, what, w.waitFor[key], text)
		}
	}
}

// A parked unit is woken by the change after which it can be placed, whatever the change.
func TestUnitsAreWokenByWhatHelps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWakeWorld(t)
		w.settle()
		for range rapid.IntRange(1, 25).Draw(t, "changes") {
			what := rapid.SampledFrom(w.kinds).Draw(t, "kind").change(w)
			w.settle()
			w.check(what)
			w.history = append(w.history, what)
		}
		if err := w.s.state.Audit(); err != nil {
			t.Fatal(err)
		}
	})
}

func (w *wakeWorld) caches() cluster.Caches {
	caches := cluster.Caches{
		Pods: memcache.New[*core.Pod](), PodGroups: memcache.New[*scheduling.PodGroup](),
		Claims: memcache.New[*resource.ResourceClaim](),
		Nodes:  memcache.New[*corev1.Node](), Namespaces: memcache.New[*corev1.Namespace](),
		Classes: memcache.New[*resourcev1.DeviceClass](),
		Slices:  memcache.New[*resourcev1.ResourceSlice](), TaintRules: memcache.New[*resourcev1.DeviceTaintRule](),
		Budgets: memcache.New[*policyv1.PodDisruptionBudget](), Services: memcache.New[*corev1.Service](),
		Volumes: memcache.New[*corev1.PersistentVolume](), VolumeClaims: memcache.New[*corev1.PersistentVolumeClaim](),
		CSINodes: memcache.New[*storagev1.CSINode](),
	}
	pods := caches.Pods.(*memcache.Cache[*core.Pod])
	w.kinds = []changer{
		wakeNodes(caches.Nodes.(*memcache.Cache[*corev1.Node])),
		wakeNamespaces(caches.Namespaces.(*memcache.Cache[*corev1.Namespace])),
		wakeClasses(caches.Classes.(*memcache.Cache[*resourcev1.DeviceClass])),
		wakeSlices(caches.Slices.(*memcache.Cache[*resourcev1.ResourceSlice])),
		wakeRules(caches.TaintRules.(*memcache.Cache[*resourcev1.DeviceTaintRule])),
		wakeClaims(caches.Claims.(*memcache.Cache[*resource.ResourceClaim])),
		wakeGroups(caches.PodGroups.(*memcache.Cache[*scheduling.PodGroup])),
		wakeVolumes(caches.Volumes.(*memcache.Cache[*corev1.PersistentVolume])),
		wakeVolumeClaims(caches.VolumeClaims.(*memcache.Cache[*corev1.PersistentVolumeClaim])),
		wakeCSINodes(caches.CSINodes.(*memcache.Cache[*storagev1.CSINode])),
		wakeBudgets(caches.Budgets.(*memcache.Cache[*policyv1.PodDisruptionBudget])),
		wakeServices(caches.Services.(*memcache.Cache[*corev1.Service])),
		boundPods(pods), boundPods(pods), waitingPods(pods),
	}
	return caches
}
