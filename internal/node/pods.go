package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/features"
)

// eventPatience is how long a pod's claims may be unready before an event says so: the caches of pods and claims are filled
// independently, and a pod often comes a moment before the reservation that was written before it.
const eventPatience = time.Second

const (
	// readAgain is when it is tried again to read a claim past the cache.
	readAgain = 5 * time.Second
	// prepareAgain is when it is tried again to prepare devices.
	prepareAgain = 5 * time.Second
	// orphanAgain is when a pod that is gone is looked at again whose node does not answer.
	orphanAgain = 10 * time.Second
)

// podCache and claimCache are what is known of the API.
type podCache interface {
	Get(namespace, name string) (*core.Pod, bool)
}

type claimCache interface {
	Get(namespace, name string) (*resource.ResourceClaim, bool)
}

// podWriter writes pods, under the UID that they have. A status is only written over the resource version that it is based on.
type podWriter interface {
	UpdatePodStatus(ctx context.Context, pod *core.Pod) (*core.Pod, error)
	DeletePod(ctx context.Context, pod *core.Pod) error
}

// claimReader reads a claim past the cache.
type claimReader interface {
	LiveClaim(ctx context.Context, namespace, name string) (*resource.ResourceClaim, error)
}

// pods looks after the pods of the fleet's nodes.
type pods struct {
	cache   podCache
	claims  claimCache
	live    claimReader
	write   podWriter
	events  reconciler.Recorder
	runtime Runtime
	clock   clock.PassiveClock
	queue   reconciler.Queue[types.NamespacedName]
	node    func(name string) (index int, alive bool) // alive: ours, and its agent has not stopped
	run     bool                                      // start pods

	features features.Set

	echoes    *echoes
	addresses *addresses
	holdings  *holdings

	mu    sync.Mutex
	known map[types.NamespacedName]*track
	// orphans are pods that the API does not show any more, by their names, until they have ended.
	orphans map[types.NamespacedName][]*core.Pod
	// last are pods as they were when they were deleted, which the cache may never have shown.
	last map[types.NamespacedName]*core.Pod
	// blocked are pods that wait for a device that another claim still holds.
	blocked map[types.NamespacedName]bool
	// waiting has the pods that wait for a claim, by the claim.
	waiting map[types.NamespacedName]map[types.NamespacedName]bool
}

// track is what the agent remembers of a pod beside its status.
type track struct {
	pod      *core.Pod // as last seen
	deleted  bool      // the final delete has been sent
	waitsFor []types.NamespacedName
	why      string // why it does not run
	since    time.Time
	said     bool // by an event
}

// reconcile brings one pod a step further: gather, decide, write.
func (p *pods) reconcile(ctx context.Context, key types.NamespacedName) error {
	if err := p.endOrphans(ctx, key); err != nil {
		return err
	}
	pod, ok := p.cache.Get(key.Namespace, key.Name)
	if !ok {
		p.forget(key)
		return p.endOrphans(ctx, key)
	}
	index, alive := p.node(pod.Spec.NodeName)
	if !alive {
		return nil
	}
	if p.echoes.missing(key.String(), pod.ResourceVersion) {
		p.queue.AddAfter(key, time.Second)
		return nil
	}
	t := p.track(key, pod)
	_, started := p.runtime.Status(pod)
	switch {
	case pod.Finished():
		p.runtime.Remove(pod)
		p.addresses.release(pod.UID)
		return p.end(ctx, key, t)
	case !started && pod.Status.Phase == corev1.PodRunning && p.runtime.Start(ctx, pod) == nil:
		// An earlier agent had started it; this one has taken it up.
		p.adopt(pod)
	case !started && pod.DeletionTimestamp != nil:
		return p.end(ctx, key, t)
	case !started && !p.run:
		return nil
	case !started:
		if done, err := p.start(ctx, key, t); !done {
			return err
		}
	}
	if pod.DeletionTimestamp != nil {
		if err := p.runtime.Stop(ctx, pod, p.grace(pod)); err != nil {
			return fmt.Errorf("stop pod %s: %w", key, err)
		}
	}
	state, _ := p.runtime.Status(pod)
	return p.report(ctx, key, index, state, t)
}

// refuse says by an event why the pod does not run, once for each reason, and not before it has lasted for a moment.
func (p *pods) refuse(key types.NamespacedName, t *track, reason string, why error) error {
	if t.why != why.Error() {
		t.why, t.since, t.said = why.Error(), p.clock.Now(), false
	}
	if left := eventPatience - p.clock.Since(t.since); left > 0 {
		p.queue.AddAfter(key, left)
		return nil
	}
	if !t.said {
		t.said = true
		p.events.Eventf(t.pod, corev1.EventTypeWarning, reason, "%s", t.why)
	}
	return nil
}

// report writes what has changed in the pod's status, and comes back when more will.
func (p *pods) report(ctx context.Context, key types.NamespacedName, index int, state PodState, t *track) error {
	pod := t.pod
	if state.Ended {
		// Before anybody hears of the end, and gives the devices to others.
		if err := p.release(ctx, pod); err != nil {
			return fmt.Errorf("pod %s: %w", key, err)
		}
	}
	status := statusOf(pod, state, p.addressOf(pod, index), p.clock.Now())
	if !holds(pod, status) {
		after, err := p.write.UpdatePodStatus(ctx, withStatus(pod, status))
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("write status of pod %s: %w", key, err)
		}
		p.echoes.wrote(key.String(), after.ResourceVersion)
	}
	if state.Ended && pod.DeletionTimestamp != nil {
		return p.end(ctx, key, t)
	}
	if !state.Again.IsZero() {
		p.queue.AddAfter(key, state.Again.Sub(p.clock.Now()))
	}
	return nil
}

// end deletes a pod that does not run, when that was asked for. Finalizers may keep the object; it is deleted only once.
func (p *pods) end(ctx context.Context, key types.NamespacedName, t *track) error {
	if err := p.release(ctx, t.pod); err != nil {
		return fmt.Errorf("pod %s: %w", key, err)
	}
	if t.pod.DeletionTimestamp == nil || t.deleted {
		return nil
	}
	if err := p.write.DeletePod(ctx, t.pod); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete pod %s: %w", key, err)
	}
	t.deleted = true
	return nil
}

// grace is what is left of the pod's grace period. A pod that is gone without having been given one has that of its spec.
func (p *pods) grace(pod *core.Pod) time.Duration {
	if pod.DeletionTimestamp == nil {
		return time.Duration(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)) * time.Second
	}
	return max(pod.DeletionTimestamp.Sub(p.clock.Now()), 0)
}

func (p *pods) addressOf(pod *core.Pod, index int) address {
	host := nodeAddress(index)
	switch {
	case pod.Spec.HostNetwork:
		return address{host: host, pod: host}
	case pod.Status.PodIP != "":
		return address{host: host, pod: pod.Status.PodIP}
	}
	return address{host: host, pod: p.addresses.give(pod.UID, index)}
}

// track finds or makes the memory of a pod. One that has the name of an earlier pod starts anew.
func (p *pods) track(key types.NamespacedName, pod *core.Pod) *track {
	p.mu.Lock()
	t, ok := p.known[key]
	p.mu.Unlock()
	if ok && t.pod.UID != pod.UID {
		p.forget(key)
		ok = false
	}
	if ok {
		t.pod = pod
		return t
	}
	t = &track{pod: pod}
	if pod.Status.PodIP != "" && !pod.Spec.HostNetwork {
		p.addresses.keep(pod.UID, pod.Status.PodIP)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[key] = t
	return t
}

// forget lets go of a pod that the API does not show any more. It is an orphan until it has ended.
func (p *pods) forget(key types.NamespacedName) {
	p.mu.Lock()
	t, ok := p.known[key]
	delete(p.known, key)
	delete(p.blocked, key)
	if ok {
		p.orphans[key] = append(p.orphans[key], t.pod)
	}
	for i, orphan := range p.orphans[key] {
		if last := p.last[key]; last != nil && last.UID == orphan.UID {
			p.orphans[key][i] = last
		}
	}
	delete(p.last, key)
	p.mu.Unlock()
	if !ok {
		return
	}
	p.await(key, t, nil)
	p.echoes.forget(key.String())
	p.queue.Add(key)
}

// await replaces the claims that the pod waits for.
func (p *pods) await(key types.NamespacedName, t *track, used []usedClaim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, claim := range t.waitsFor {
		delete(p.waiting[claim], key)
		if len(p.waiting[claim]) == 0 {
			delete(p.waiting, claim)
		}
	}
	t.waitsFor = nil
	for _, u := range used {
		claim := types.NamespacedName{Namespace: key.Namespace, Name: u.name}
		if p.waiting[claim] == nil {
			p.waiting[claim] = map[types.NamespacedName]bool{}
		}
		p.waiting[claim][key] = true
		t.waitsFor = append(t.waitsFor, claim)
	}
}

// onPod takes an event of the cache of pods.
func (p *pods) onPod(before, after *core.Pod) {
	pod := after
	if pod == nil {
		pod = before
	}
	if pod.Spec.NodeName == "" {
		return
	}
	key := reconciler.KeyOf(pod)
	if after == nil {
		p.mu.Lock()
		p.last[key] = before
		p.mu.Unlock()
	}
	p.queue.Add(key)
}

// onClaim takes an event of the cache of claims.
func (p *pods) onClaim(before, after *resource.ResourceClaim) {
	claim := after
	if claim == nil {
		claim = before
	}
	p.mu.Lock()
	var keys []types.NamespacedName
	for key := range p.waiting[reconciler.KeyOf(claim)] {
		keys = append(keys, key)
	}
	p.mu.Unlock()
	for _, key := range keys {
		p.queue.Add(key)
	}
}
