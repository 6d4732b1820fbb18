package scheduler

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
)

const (
	// repairAfter is how long a pod must seem to lack devices: one cache may show its bind before
	// another one shows the allocation that was written before it.
	repairAfter = 2 * time.Second
	// reasonDevicesLost is the reason of the events on a pod whose claim has lost its devices.
	reasonDevicesLost = "DevicesLost"
)

// repairer allocates devices to pods on a node whose claims have lost theirs.
type repairer struct {
	*loop
	pods     podWriter
	cache    cluster.PodCache
	evict    evictor
	suspects map[model.Key]bool // pods that seem to lack devices, and are looked at again
}

// observeUnprovided finds pods on a node with a claim that has no devices (P1). This does not
// happen as long as all components follow docs/adr/0007, but another version, another controller or
// a user may have deallocated the claim.
func (r *repairer) observeUnprovided(ctx context.Context, topics []model.Topic) {
	for _, topic := range topics {
		switch topic.Kind {
		case model.TopicPod:
			r.suspect(ctx, topic.Key)
		case model.TopicClaim:
			if claim, ok := r.state.Claims.Get(topic.Key); !ok || claim.Allocation != nil {
				continue
			}
			for _, pod := range r.feed.PodsNaming(topic.Key) {
				if pod.Spec.NodeName != "" {
					r.suspect(ctx, model.Key{Namespace: pod.Namespace, Name: pod.Name})
				}
			}
		}
	}
}

// suspect checks a pod that lacks devices again later.
func (r *repairer) suspect(ctx context.Context, key model.Key) {
	pod, ok := r.state.Pods.Get(key)
	if !ok || r.suspects[key] || len(r.lacking(pod)) == 0 {
		return
	}
	r.suspects[key] = true
	r.runAfter(repairAfter, func() []model.Topic {
		r.repair(ctx, key)
		return nil
	})
}

// lacking returns the claims without devices of a pod that this scheduler has bound. A pod whose
// node was set when it was created waits for devices, as it does in Kubernetes.
func (r *repairer) lacking(pod *model.Pod) []*model.Claim {
	if len(pod.Claims) == 0 || !r.hasBound(pod) {
		return nil
	}
	var list []*model.Claim
	seen := map[string]bool{}
	for i := range pod.Claims {
		entry := &pod.Claims[i]
		claim, ok := r.state.Claims.Get(model.Key{Namespace: pod.Key.Namespace, Name: entry.Claim})
		if !ok || seen[entry.Claim] || claim.Allocation != nil || claim.Deleting ||
			entry.Owner != "" && claim.Controller != entry.Owner &&
				!(entry.Group && r.state.IsTreeClaim(pod.GroupKey(), claim)) {
			continue
		}
		seen[entry.Claim] = true
		list = append(list, claim)
	}
	return list
}

// hasBound reports whether this scheduler has bound the pod, and the pod has not ended.
func (r *repairer) hasBound(pod *model.Pod) bool {
	if pod.Node == "" || pod.Foreign || pod.StandIn || !pod.Live() || r.state.Pods.Assumed(pod.Key) {
		return false
	}
	seen, ok := r.cache.Get(pod.Key.Namespace, pod.Key.Name)
	return ok && wasBound(seen)
}

// repair allocates devices on the pod's node to its claims, or deletes the pod if there are none.
func (r *repairer) repair(ctx context.Context, key model.Key) {
	delete(r.suspects, key)
	pod, ok := r.state.Pods.Get(key)
	if !ok {
		return
	}
	list := r.lacking(pod)
	if len(list) == 0 {
		return
	}
	r.suspects[key] = true
	names := make([]string, len(list))
	for i, claim := range list {
		names[i] = claim.Key.Name
	}
	plan := r.placer.Provide(pod, list)
	if plan != nil {
		plan.Assume(r.state)
	}
	r.runConcurrently(func() {
		var result commit.Result
		live, err := r.unprovided(ctx, pod, list)
		switch {
		case err != nil:
			result.Refused = err
		case live == nil:
			result.Refused = fmt.Errorf("pod %s has its devices, or is not what it was", key)
		case plan != nil:
			if result = r.commit.Claims(ctx, plan); result.Refused == nil {
				r.status.events.Eventf(
					live,
					corev1.EventTypeWarning,
					reasonDevicesLost,
					"ResourceClaim(s) %s had lost the devices of the running pod, and were allocated devices of node %s again",
					strings.Join(names, ", "),
					pod.Node,
				)
			}
		default:
			if result.Refused = r.evict.Evict(ctx, pod); result.Refused == nil {
				r.status.events.Eventf(
					live,
					corev1.EventTypeWarning,
					reasonDevicesLost,
					"ResourceClaim(s) %s have lost the devices of the running pod, and node %s has no devices for them: the pod is deleted",
					strings.Join(names, ", "),
					pod.Node,
				)
			}
		}
		r.feed.Enqueue(func() []model.Topic {
			delete(r.suspects, key)
			if result.Refused == nil {
				return nil
			}
			klog.V(2).InfoS("A pod without its devices was not repaired", "pod", key, "reason", result.Refused)
			topics := r.applyWritten(result.TakenBack)
			if plan != nil {
				topics = append(topics, plan.Forget(r.state)...)
			}
			r.suspect(ctx, key)
			return topics
		})
	})
}

// unprovided returns the pod from the API, or nil if it has changed or has the devices of a claim.
func (r *repairer) unprovided(ctx context.Context, pod *model.Pod, list []*model.Claim) (*core.Pod, error) {
	live, err := r.pods.ReadPod(ctx, pod.Key)
	if err != nil || live == nil || live.UID != pod.UID || live.Spec.NodeName != pod.Node || claims.PodDone(live) {
		return nil, err
	}
	for _, claim := range list {
		now, err := r.commit.LookUp(ctx, claim.Key)
		if err != nil || now == nil || now.UID != claim.UID || now.Status.Allocation != nil {
			return nil, err
		}
	}
	return live, nil
}

// wasBound reports whether the API server has noted that a scheduler has bound the pod.
func wasBound(pod *core.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
