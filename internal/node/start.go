package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
)

// start runs the pod if it may run, after preparing the devices of all its claims. done is false if
// the pod was not started.
func (p *pods) start(ctx context.Context, key types.NamespacedName, index int, t *track) (done bool, err error) {
	used, problem := p.admit(ctx, key, t)
	if errors.Is(problem, errUnread) {
		p.queue.AddAfter(key, readAgain)
	}
	if problem != nil {
		p.refuse(key, t, "WaitingForClaim", problem)
		return false, nil
	}
	if err := p.hold(key, t.pod, used); err != nil {
		p.refuse(key, t, "WaitingForDevice", err)
		return false, nil
	}
	if left := p.untilPrepare(t); left > 0 {
		p.queue.AddAfter(key, left)
		return false, nil
	}
	if err := p.holdings.prepare(ctx, t.pod, used); err != nil {
		if !errors.Is(err, errPending) {
			p.prepareLater(key, t, err)
		}
		return false, p.reportWaiting(ctx, key, index, t)
	}
	if err := p.runtime.Start(ctx, t.pod); err != nil {
		p.refuse(key, t, "FailedStart", err)
		return false, nil
	}
	t.message, t.preparation = "", preparation{}
	return true, nil
}

// admit returns the claims of the pod if it may run with all of them. It first registers the pod as
// waiting for them, so that no change is missed.
func (p *pods) admit(ctx context.Context, key types.NamespacedName, t *track) ([]*resource.ResourceClaim, error) {
	p.await(key, t, usedClaims(t.pod))
	used, problem := admit(p.features, t.pod,
		func(u usedClaim) (*resource.ResourceClaim, error) { return p.claim(ctx, t.pod, u) })
	if problem == nil {
		p.await(key, t, nil)
	}
	return used, problem
}

// claim returns a claim that the pod uses. A claim that neither names the pod nor was created for
// its PodGroup alone is read from the API: the cache may show an earlier allocation for others.
func (p *pods) claim(ctx context.Context, pod *core.Pod, u usedClaim) (*resource.ResourceClaim, error) {
	claim, ok := p.claims.Get(pod.Namespace, u.name)
	if !ok {
		return nil, errNoClaim
	}
	_, _, shared := claims.OwnerTree(claim)
	if !shared && (u.generated || claims.NamesPod(pod, claim) || claims.MadeFor(pod, claim)) ||
		claims.CanRunWith(p.features, pod, claim) != nil {
		return claim, nil //nolint:nilerr // the caller checks it again, and reports why
	}
	claim, err := p.live.LiveClaim(ctx, pod.Namespace, u.name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, errNoClaim
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	}
	return claim, nil
}

// hold makes the pod hold its claims, or returns an error that names a device held by another
// claim.
func (p *pods) hold(key types.NamespacedName, pod *core.Pod, used []*resource.ResourceClaim) error {
	p.setBlocked(key, true) // set first, so that no release is missed
	err := p.holdings.take(pod, used)
	p.setBlocked(key, err != nil)
	return err
}

func (p *pods) setBlocked(key types.NamespacedName, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if is {
		p.blocked[key] = true
	} else {
		delete(p.blocked, key)
	}
}

// adopt makes a pod started by an earlier agent hold its claims, which are not prepared again.
func (p *pods) adopt(pod *core.Pod) {
	var used []*resource.ResourceClaim
	for _, u := range usedClaims(pod) {
		if claim, ok := p.claims.Get(pod.Namespace, u.name); ok {
			used = append(used, claim)
		}
	}
	_ = p.holdings.take(pod, used) // the pod runs, even if another claim holds its devices
}

// release releases the claims of a pod that has ended, and wakes pods that wait for devices. An
// error of a driver is recorded each time: the pod does not end before.
func (p *pods) release(ctx context.Context, pod *core.Pod) error {
	freed, err := p.holdings.release(ctx, pod)
	if err != nil && !errors.Is(err, errPending) {
		p.events.Eventf(pod, corev1.EventTypeWarning, "FailedUnprepareDynamicResources",
			"Failed to unprepare dynamic resources: %v", err)
	}
	if freed {
		p.mu.Lock()
		keys := slices.Collect(maps.Keys(p.blocked))
		p.mu.Unlock()
		for _, key := range keys {
			p.queue.Add(key)
		}
	}
	return err
}
