package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// After drivers could not prepare the claims of a pod, they are called again after a delay that
// doubles from prepareSoon to prepareLate, which is the kubelet's, or when a driver registers.
const (
	prepareSoon = time.Second
	prepareLate = 10 * time.Second
)

// preparation is the state of attempts to prepare the claims of a pod.
type preparation struct {
	next  time.Time // time of the next attempt
	delay time.Duration
	wakes int // wakes of the node at the last attempt
}

// untilPrepare returns how long to wait before the next attempt.
func (p *pods) untilPrepare(t *track) time.Duration {
	if t.preparation.next.IsZero() || t.preparation.wakes != p.wakesOf(t.pod.Spec.NodeName) {
		return 0
	}
	return t.preparation.next.Sub(p.clock.Now())
}

// prepareLater records a failed attempt, as a kubelet does for each, and schedules the next one.
func (p *pods) prepareLater(key types.NamespacedName, t *track, err error) {
	delay := max(min(2*t.preparation.delay, prepareLate), prepareSoon)
	t.preparation = preparation{next: p.clock.Now().Add(delay), delay: delay, wakes: p.wakesOf(t.pod.Spec.NodeName)}
	p.queue.AddAfter(key, delay)
	p.events.Eventf(t.pod, corev1.EventTypeWarning, "FailedPrepareDynamicResources",
		"Failed to prepare dynamic resources: %v", err)
}

// wake has the pods of the node try again, because a driver has registered.
func (p *pods) wake(node string, pods []types.NamespacedName) {
	p.mu.Lock()
	p.wakes[node]++
	p.mu.Unlock()
	for _, key := range pods {
		p.queue.Add(key)
	}
}

func (p *pods) wakesOf(node string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wakes[node]
}

// reportWaiting writes the status of a pod that waits for its drivers, unless the API has it.
func (p *pods) reportWaiting(ctx context.Context, key types.NamespacedName, index int, t *track) error {
	at := address{host: nodeAddress(index)}
	if t.pod.Spec.HostNetwork {
		at.pod = at.host
	}
	return p.writeStatus(ctx, key, t, statusOf(t.pod, waitingState(t.pod), at, p.clock.Now()), "")
}
