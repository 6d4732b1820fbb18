package scheduler

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/groups"
	"github.com/allot-dev/allot/internal/model"
)

// A gang of 1,000 gets few writes of its condition, not 1,000: changes of its pods are gathered
// for a moment, and that pods are missing is said only when no more have come for a while.
const (
	settle       = 100 * time.Millisecond
	settleQuorum = time.Second
)

// groupStatus keeps the conditions of PodGroups (SPEC R33). What follows from the pods
// alone it reads off the caches; why a group cannot be placed, the scheduler says.
type groupStatus struct {
	set       *client.Set
	podGroups *client.Informer[*scheduling.PodGroup]
	pods      *client.Informer[*core.Pod]
	tell      *podStatus
	events    recorder
	clock     clock.Clock
	runner    *reconciler.Runner[model.Key]

	mu     sync.Mutex // guards the fields below
	said   map[model.Key]verdict
	counts map[model.Key]groups.Quorum // at the last look, of gangs that lack pods
}

// verdict is what the scheduler last said of a group.
type verdict struct {
	uid     types.UID
	outcome groups.Outcome
}

func newGroupStatus(set *client.Set, inf *client.Informers, tell *podStatus, events recorder, clk clock.WithTicker) (*groupStatus, error) {
	g := &groupStatus{set: set, podGroups: inf.PodGroups(), pods: inf.Pods(), tell: tell, events: events, clock: clk,
		said: map[model.Key]verdict{}, counts: map[model.Key]groups.Quorum{}}
	g.runner = reconciler.New("podgroup-status", g.reconcile, reconciler.Options{Clock: clk})
	if err := g.pods.AddIndex(groups.Index, groups.IndexKeys); err != nil {
		return nil, err
	}
	g.pods.OnChange(func(old, now *core.Pod) {
		for _, pod := range []*core.Pod{old, now} {
			if pod != nil && pod.Spec.SchedulingGroup != nil && pod.Spec.SchedulingGroup.PodGroupName != nil {
				g.runner.AddAfter(model.Key{Namespace: pod.Namespace, Name: *pod.Spec.SchedulingGroup.PodGroupName}, settle)
				return
			}
		}
	})
	g.podGroups.OnChange(func(old, now *scheduling.PodGroup) {
		if now != nil {
			g.runner.AddAfter(model.Key{Namespace: now.Namespace, Name: now.Name}, settle)
			return
		}
		g.forget(model.Key{Namespace: old.Namespace, Name: old.Name}, old.UID)
	})
	return g, nil
}

// say records why a group cannot be placed.
func (g *groupStatus) say(key model.Key, uid types.UID, outcome groups.Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.said[key] = verdict{uid, outcome}
	g.runner.Add(key)
}

func (g *groupStatus) forget(key model.Key, uid types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.said[key].uid == uid {
		delete(g.said, key)
	}
	delete(g.counts, key)
}

// moving says whether a gang that lacks pods has got or lost some since the last look.
func (g *groupStatus) moving(key model.Key, q groups.Quorum) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.Met() {
		delete(g.counts, key)
		return false
	}
	last, known := g.counts[key]
	g.counts[key] = q
	return !known || last != q
}

func (g *groupStatus) lastSaid(key model.Key, uid types.UID) (groups.Outcome, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, ok := g.said[key]
	return v.outcome, ok && v.uid == uid
}

// reconcile writes the group's conditions, if they have to change.
func (g *groupStatus) reconcile(ctx context.Context, key model.Key) error {
	group, ok := g.podGroups.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	members := g.pods.ByIndex(groups.Index, key.String())
	count := groups.Count(group, members)
	outcome, known := groups.Assess(group, count)
	if g.moving(key, count) {
		g.runner.AddAfter(key, settleQuorum)
		return nil
	}
	if !known {
		if outcome, known = g.lastSaid(key, group.UID); !known {
			return nil
		}
	}
	conditions, changed := groups.Conditions(group, outcome, metav1.NewTime(g.clock.Now()))
	if !changed {
		return nil
	}
	if err := g.write(ctx, group, conditions); err != nil {
		return err
	}
	g.publish(group, members, outcome)
	return nil
}

func (g *groupStatus) write(ctx context.Context, group *scheduling.PodGroup, conditions []metav1.Condition) error {
	group = group.DeepCopy()
	group.Status.Conditions = conditions
	_, err := g.set.PodGroups(group.Namespace).UpdateStatus(ctx, group, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the conditions of podgroup %s/%s: %w", group.Namespace, group.Name, err)
	}
	return nil
}

// publish says what has changed by one event on the group, and to the gang's members that wait.
func (g *groupStatus) publish(group *scheduling.PodGroup, members []*core.Pod, outcome groups.Outcome) {
	if outcome.Scheduled {
		g.events.Eventf(group, corev1.EventTypeNormal, outcome.Reason, "%s", outcome.Message)
		return
	}
	g.events.Eventf(group, corev1.EventTypeWarning, outcome.Reason, "%s", outcome.Message)
	if group.Spec.SchedulingPolicy.Gang == nil {
		return // the scheduler tells each pod its own reason
	}
	for _, pod := range members {
		if pod.Spec.NodeName == "" {
			g.tell.say(model.Key{Namespace: pod.Namespace, Name: pod.Name}, podVerdict{uid: pod.UID, reason: corev1.PodReasonUnschedulable, message: outcome.Message})
		}
	}
}
