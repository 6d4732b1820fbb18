package node

import (
	"context"
	"errors"
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

// eventPatience is how long claims may be unready before an event is recorded: the caches of pods
// and claims are independent, and a pod often arrives before the reservation that was written
// before it.
const eventPatience = time.Second

const (
	// readAgain is the delay before a claim is read from the API again.
	readAgain = 5 * time.Second
	// orphanAgain is the delay before a deleted pod on an unavailable node is checked again.
	orphanAgain = 10 * time.Second
)

// podCache and claimCache are the caches of the API.
type podCache interface {
	Get(namespace, name string) (*core.Pod, bool)
}

type claimCache interface {
	Get(namespace, name string) (*resource.ResourceClaim, bool)
}

// podWriter writes pods with a UID precondition. A status update also requires the resource version
// that it is based on.
type podWriter interface {
	UpdatePodStatus(ctx context.Context, pod *core.Pod) (*core.Pod, error)
	DeletePod(ctx context.Context, pod *core.Pod) error
}

// claimReader reads a claim from the API, not from the cache.
type claimReader interface {
	LiveClaim(ctx context.Context, namespace, name string) (*resource.ResourceClaim, error)
}

// pods manages the pods on the nodes of the fleet.
type pods struct {
	cache   podCache
	claims  claimCache
	live    claimReader
	write   podWriter
	events  reconciler.Recorder
	runtime Runtime
	clock   clock.PassiveClock
	queue   reconciler.Queue[types.NamespacedName]
	node    func(name string) (index int, alive bool) // see nodes.alive
	run     bool                                      // start pods

	features features.Set

	echoes    *ownWrites
	addresses *addresses
	holdings  *holdings
	// prepared has the devices that drivers have prepared. Nil means that there are no drivers.
	prepared preparedDevices

	mu    sync.Mutex
	known map[types.NamespacedName]*track
	// orphans are pods that no longer exist in the API, by name, until they have ended.
	orphans map[types.NamespacedName][]*core.Pod
	// last has the final versions of deleted pods, which the cache may never have shown.
	last map[types.NamespacedName]*core.Pod
	// blocked has the pods that wait for a device held by another claim.
	blocked map[types.NamespacedName]bool
	// waiting has the pods that wait for a claim, by claim.
	waiting map[types.NamespacedName]map[types.NamespacedName]bool
	// wakes counts by node how often a driver has become usable.
	wakes map[string]int
}

// track holds the state of a pod that is not in its status.
type track struct {
	pod         *core.Pod // the pod as it was last seen
	deleted     bool      // the final deletion was sent
	waitsFor    []types.NamespacedName
	preparation preparation
	message     string // why it does not run
	since       time.Time
	reported    bool // an event was recorded
}

// reconcile advances one pod until it waits for a change, or for a driver.
func (p *pods) reconcile(ctx context.Context, key types.NamespacedName) error {
	if err := p.advance(ctx, key); !errors.Is(err, errPending) {
		return err
	}
	return nil
}

// advance advances one pod: gather, decide, write.
func (p *pods) advance(ctx context.Context, key types.NamespacedName) error {
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
	if pod.Finished() {
		p.runtime.Remove(pod)
		p.addresses.release(pod.UID)
		return p.end(ctx, key, t)
	}
	if _, started := p.runtime.Status(pod); !started {
		if runs, err := p.resumeOrStart(ctx, key, index, t); !runs {
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

// resumeOrStart starts a pod that this agent has not started, and reports whether the pod runs. A
// pod that is being deleted is not started, unless it ran already.
func (p *pods) resumeOrStart(ctx context.Context, key types.NamespacedName, index int, t *track) (bool, error) {
	switch {
	case t.pod.Status.Phase == corev1.PodRunning && p.runtime.Start(ctx, t.pod) == nil:
		p.adopt(t.pod) // an earlier agent started it
		return true, nil
	case t.pod.DeletionTimestamp != nil:
		return false, p.end(ctx, key, t)
	case !p.run:
		return false, nil
	}
	return p.start(ctx, key, index, t)
}

// refuse records an event with the reason why the pod does not run, once per reason, if it
// persists.
func (p *pods) refuse(key types.NamespacedName, t *track, reason string, why error) {
	if t.message != why.Error() {
		t.message, t.since, t.reported = why.Error(), p.clock.Now(), false
	}
	if left := eventPatience - p.clock.Since(t.since); left > 0 {
		p.queue.AddAfter(key, left)
		return
	}
	if !t.reported {
		t.reported = true
		p.events.Eventf(t.pod, corev1.EventTypeWarning, reason, "%s", t.message)
	}
}

// report writes changes of the pod's status and schedules the next change.
func (p *pods) report(ctx context.Context, key types.NamespacedName, index int, state PodState, t *track) error {
	pod := t.pod
	if state.Ended {
		// Devices are released before the end is reported, because then they may be allocated
		// again.
		if err := p.release(ctx, pod); err != nil {
			return fmt.Errorf("pod %s: %w", key, err)
		}
	}
	devices := p.containerDevices(pod, &state)
	status := statusOf(pod, state, p.addressOf(pod, index), p.clock.Now())
	if err := p.writeStatus(ctx, key, t, status, devices); err != nil {
		return err
	}
	if state.Ended && pod.DeletionTimestamp != nil {
		return p.end(ctx, key, t)
	}
	if !state.Again.IsZero() {
		p.queue.AddAfter(key, state.Again.Sub(p.clock.Now()))
	}
	return nil
}

// writeStatus writes the agent's part of the status, and the annotation with the pod's devices
// unless that is empty, if the API does not have them. A pod that does not exist any more is no
// error.
func (p *pods) writeStatus(
	ctx context.Context, key types.NamespacedName, t *track, status corev1.PodStatus, devices string,
) error {
	if hasStatus(t.pod, status) && (devices == "" || t.pod.Annotations[AnnotationDevices] == devices) {
		return nil
	}
	after, err := p.write.UpdatePodStatus(ctx, withStatus(t.pod, status, devices))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write status of pod %s: %w", key, err)
	}
	p.echoes.wrote(key.String(), after.ResourceVersion)
	return nil
}

// end deletes a stopped pod for which deletion was requested. Finalizers may keep the object; the
// request is sent only once.
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

// grace returns the remaining grace period. A pod that was removed without a grace period has that
// of its spec.
func (p *pods) grace(pod *core.Pod) time.Duration {
	if pod.DeletionTimestamp == nil {
		return time.Duration(
			ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds),
		) * time.Second
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
	return address{host: host, pod: p.addresses.assign(pod.UID, index)}
}

// track returns the state of a pod, creating it if necessary. A new pod with the name of an earlier
// one gets a new state.
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
		p.addresses.record(pod.UID, pod.Status.PodIP)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[key] = t
	return t
}

// forget drops a pod that no longer exists in the API. It becomes an orphan until it has ended.
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

// onPod handles a change in the cache of pods.
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

// onClaim handles a change in the cache of claims.
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
