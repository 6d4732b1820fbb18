package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/model"
)

// Reports on pods that wait yield to the writes that place pods: at most so many a second.
const (
	reportsPerSecond = 50
	reportsBurst     = 200
)

// podStatus tells waiting pods why they wait, in their PodScheduled condition and by an
// event if need be: once per change of the reason. A pod that gets a node in the meantime is told nothing.
type podStatus struct {
	set     *client.Set
	pods    *client.Informer[*core.Pod]
	events  recorder
	clock   clock.Clock
	runner  *reconciler.Runner[model.Key]
	limiter flowcontrol.RateLimiter

	mu   sync.Mutex // guards said
	said map[model.Key]podVerdict
}

type podVerdict struct {
	uid             types.UID
	reason, message string
	event           bool // publish one; a gang publishes its own
}

func newPodStatus(set *client.Set, inf *client.Informers, events recorder, clk clock.WithTicker) *podStatus {
	p := &podStatus{set: set, pods: inf.Pods(), events: events, clock: clk, said: map[model.Key]podVerdict{},
		limiter: flowcontrol.NewTokenBucketRateLimiter(reportsPerSecond, reportsBurst)}
	p.runner = reconciler.New("pod-status", p.reconcile, reconciler.Options{Clock: clk, Workers: 2})
	return p
}

// say has a pod told why it waits.
func (p *podStatus) say(key model.Key, verdict podVerdict) {
	p.mu.Lock()
	p.said[key] = verdict
	p.mu.Unlock()
	p.runner.Add(key)
}

func (p *podStatus) reconcile(ctx context.Context, key model.Key) error {
	p.mu.Lock()
	verdict, ok := p.said[key]
	delete(p.said, key)
	p.mu.Unlock()
	pod, exists := p.pods.Get(key.Namespace, key.Name)
	if !ok || !exists || pod.UID != verdict.uid || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || told(pod, verdict) {
		return nil
	}
	if err := p.limiter.Wait(ctx); err != nil {
		return nil // stopping
	}
	if err := p.write(ctx, pod, verdict); err != nil {
		p.mu.Lock()
		if _, newer := p.said[key]; !newer {
			p.said[key] = verdict
		}
		p.mu.Unlock()
		return err
	}
	if verdict.event {
		p.events.Eventf(pod, corev1.EventTypeWarning, "FailedScheduling", "%s", verdict.message)
	}
	return nil
}

// told says whether the pod's condition says this already.
func told(pod *core.Pod, verdict podVerdict) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionFalse && c.Reason == verdict.reason && c.Message == verdict.message
		}
	}
	return false
}

// write sets the one condition by a patch, so that nobody else's part of the status is touched.
func (p *podStatus) write(ctx context.Context, pod *core.Pod, verdict podVerdict) error {
	condition := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: verdict.reason, Message: verdict.message,
		LastTransitionTime: metav1.NewTime(p.clock.Now()),
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": []corev1.PodCondition{condition}},
	})
	if err != nil {
		return fmt.Errorf("encode the condition of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	_, err = p.set.Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("tell pod %s/%s why it waits: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}
