package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
)

// start runs the pod if it may run, after the devices of all its claims have been prepared. Done is false when it does not.
func (p *pods) start(ctx context.Context, key types.NamespacedName, t *track) (done bool, err error) {
	used, problem := p.admit(ctx, key, t)
	if errors.Is(problem, errUnread) {
		p.queue.AddAfter(key, readAgain)
	}
	if problem != nil {
		return false, p.refuse(key, t, "WaitingForClaim", problem)
	}
	if err := p.hold(key, t.pod, used); err != nil {
		return false, p.refuse(key, t, "WaitingForDevice", err)
	}
	if err := p.holdings.prepare(ctx, t.pod, used); err != nil {
		p.queue.AddAfter(key, prepareAgain)
		return false, p.refuse(key, t, "FailedPrepareDynamicResources", err)
	}
	if err := p.runtime.Start(ctx, t.pod); err != nil {
		return false, p.refuse(key, t, "FailedStart", err)
	}
	t.why = ""
	return true, nil
}

// admit looks at the pod's claims, and gives them if the pod may run with all of them. It notes which of them the pod waits
// for before it looks, so that no change is missed.
func (p *pods) admit(ctx context.Context, key types.NamespacedName, t *track) ([]*resource.ResourceClaim, error) {
	p.await(key, t, usedClaims(t.pod))
	used, problem := admit(p.features, t.pod, func(u usedClaim) (*resource.ResourceClaim, error) { return p.claim(ctx, t.pod, u) })
	if problem == nil {
		p.await(key, t, nil)
	}
	return used, problem
}

// claim finds a claim that the pod uses. One that does not name the pod, and was not made for its PodGroup, is read live: the
// cache may show it as it was for others, with devices that it has not any more.
func (p *pods) claim(ctx context.Context, pod *core.Pod, u usedClaim) (*resource.ResourceClaim, error) {
	claim, ok := p.claims.Get(pod.Namespace, u.name)
	if !ok {
		return nil, errNoClaim
	}
	if u.generated || claims.NamesPod(pod, claim) || claims.MadeFor(pod, claim) || claims.CanRunWith(p.features, pod, claim) != nil {
		return claim, nil
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

// hold has the pod hold its claims from now on, or says which device is still held by another.
func (p *pods) hold(key types.NamespacedName, pod *core.Pod, used []*resource.ResourceClaim) error {
	p.setBlocked(key, true) // before it looks, so that no release is missed
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

// adopt has a pod that an earlier agent started hold its claims as it did then: they are not prepared again.
func (p *pods) adopt(pod *core.Pod) {
	var used []*resource.ResourceClaim
	for _, u := range usedClaims(pod) {
		if claim, ok := p.claims.Get(pod.Namespace, u.name); ok {
			used = append(used, claim)
		}
	}
	_ = p.holdings.take(pod, used) // it runs, whoever else may hold its devices
}

// release has a pod that has ended hold nothing any more, and wakes those that wait for devices.
func (p *pods) release(ctx context.Context, pod *core.Pod) error {
	freed, err := p.holdings.give(ctx, pod)
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
