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
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/model"
)

// Reports about waiting pods must not delay the writes that place pods, and are limited to this
// rate.
const (
	reportsPerSecond = 50
	reportsBurst     = 200
)

// settleReason is the delay before the reason is reported to a pod: most reasons, such as a claim
// that is being generated, do not last.
const settleReason = time.Second

// podStatus reports to waiting pods why they wait, in their PodScheduled condition and, if
// required, by an event. Messages that change often are spaced: see pace. A pod that is bound in
// the meantime gets no report.
type podStatus struct {
	pods    cluster.PodCache
	write   podWriter
	events  reconciler.Recorder
	clock   clock.PassiveClock
	queue   reconciler.Queue[model.Key]
	limiter flowcontrol.RateLimiter
	pace    *pace

	mu       sync.Mutex // guards verdicts
	verdicts map[model.Key]podVerdict
}

type podVerdict struct {
	uid             types.UID
	reason, message string
	nominated       string // nominated node
	event           string // event to publish; empty for none
	prompt          bool   // the message is not spaced: it changes only with the pod's own group
}

func newPodStatus(p parts) *podStatus {
	s := &podStatus{
		pods:     p.caches.Pods,
		write:    p.pods,
		events:   p.events,
		clock:    p.clock,
		verdicts: map[model.Key]podVerdict{},
		pace:     newPace(p.clock),
		limiter:  flowcontrol.NewTokenBucketRateLimiter(reportsPerSecond, reportsBurst),
	}
	s.pods.OnChange(func(old, now *core.Pod) {
		if now == nil {
			s.pace.forget(model.Key{Namespace: old.Namespace, Name: old.Name})
		} else if now.Spec.NodeName != "" {
			s.pace.forget(model.Key{Namespace: now.Namespace, Name: now.Name})
		}
	})
	return s
}

// setVerdict queues the reason why a pod waits, to be written to its PodScheduled condition.
func (p *podStatus) setVerdict(key model.Key, verdict podVerdict) {
	p.mu.Lock()
	p.verdicts[key] = verdict
	p.mu.Unlock()
	if verdict.nominated != "" { // a preemption may be completed within a second, and autoscalers must see it
		p.queue.Add(key)
		return
	}
	p.queue.AddAfter(key, settleReason)
}

func (p *podStatus) reconcile(ctx context.Context, key model.Key) error {
	verdict, ok := p.takeVerdict(key)
	pod, exists := p.pods.Get(key.Namespace, key.Name)
	if !ok || !exists || !verdict.concerns(pod) || isReported(pod, verdict) {
		return nil
	}
	if wait := p.pace.wait(key, pod.UID, verdict.message); wait > 0 && !verdict.prompt && onlyMessage(pod, verdict) {
		p.requeue(key, verdict)
		p.queue.AddAfter(key, wait)
		return nil
	}
	if err := p.limiter.Wait(ctx); err != nil {
		return nil //nolint:nilerr // stopping
	}
	patch, err := p.patch(pod, verdict)
	if err == nil {
		err = p.write.PatchPod(ctx, key, patch)
	}
	if apierrors.IsConflict(err) {
		return nil // the verdict was about an earlier pod with that name
	}
	if err != nil {
		p.requeue(key, verdict)
		return err
	}
	if news := p.pace.recordWrite(key, pod.UID, verdict.message); news && verdict.event != "" {
		p.events.Eventf(pod, corev1.EventTypeWarning, "FailedScheduling", "%s", verdict.event)
	}
	return nil
}

// takeVerdict removes and returns the verdict about a pod.
func (p *podStatus) takeVerdict(key model.Key) (podVerdict, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	verdict, ok := p.verdicts[key]
	delete(p.verdicts, key)
	return verdict, ok
}

// concerns reports whether the verdict is about this pod, and the pod still waits.
func (v podVerdict) concerns(pod *core.Pod) bool {
	return pod.UID == v.uid && pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil
}

// requeue keeps a verdict for the next attempt, unless there is a newer one.
func (p *podStatus) requeue(key model.Key, verdict podVerdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, newer := p.verdicts[key]; !newer {
		p.verdicts[key] = verdict
	}
}

// onlyMessage reports whether only the message of the pod's condition would change.
func onlyMessage(pod *core.Pod, verdict podVerdict) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionFalse && c.Reason == verdict.reason &&
				pod.Status.NominatedNodeName == verdict.nominated
		}
	}
	return false
}

// isReported reports whether the pod's status already has the verdict.
func isReported(pod *core.Pod, verdict podVerdict) bool {
	if pod.Status.NominatedNodeName != verdict.nominated {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionFalse && c.Reason == verdict.reason && c.Message == verdict.message
		}
	}
	return false
}

// patch returns a patch of this one condition, so that other parts of the status are not changed.
func (p *podStatus) patch(pod *core.Pod, verdict podVerdict) ([]byte, error) {
	condition := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: verdict.reason, Message: verdict.message,
		LastTransitionTime: metav1.NewTime(p.clock.Now()),
	}
	status := map[string]any{"conditions": []corev1.PodCondition{condition}}
	switch {
	case verdict.nominated != "":
		status["nominatedNodeName"] = verdict.nominated
	case pod.Status.NominatedNodeName != "":
		status["nominatedNodeName"] = nil
	}
	patch, err := client.StatusPatch(pod.UID, status)
	if err != nil {
		return nil, fmt.Errorf("condition of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return patch, nil
}
