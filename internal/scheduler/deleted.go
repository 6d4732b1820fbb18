package scheduler

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/holding"
)

// freeAgain is the pause before the devices of a claim that is being deleted are freed again after
// a failure.
const freeAgain = time.Second

// deletedClaims frees the devices of claims that are being deleted.
type deletedClaims struct {
	*loop
	claims map[model.Key]bool // claims with devices; true while they are being freed
}

// freeDeleted frees the devices of claims that are being deleted and whose consumers have no node.
// These pods cannot be placed with such a claim, so that each would wait for the other. The claim
// is removed then, and created again if it was generated.
func (d *deletedClaims) freeDeleted(ctx context.Context, topics []model.Topic) {
	d.noteDeleted(topics)
	if len(d.claims) == 0 {
		return
	}
	touched := map[string]bool{}
	for _, topic := range topics {
		touched[topic.Key.Namespace] = true
	}
	var useless []holding.Claim
	for key, busy := range d.claims {
		if busy || !touched[key.Namespace] {
			continue
		}
		if claim, ok := d.state.Claims.Get(key); ok && d.allIdle(claim) {
			useless = append(useless, holding.Claim{Key: key, UID: claim.UID, Holders: claim.Consumers})
		}
	}
	slices.SortFunc(useless, func(a, b holding.Claim) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	for _, held := range d.usage.NotInUse(useless, nil) {
		d.freeOne(ctx, held)
	}
}

// noteDeleted updates the list of claims that are being deleted and have devices.
func (d *deletedClaims) noteDeleted(topics []model.Topic) {
	for _, topic := range topics {
		if topic.Kind != model.TopicClaim {
			continue
		}
		claim, ok := d.state.Claims.Observed(topic.Key)
		if !ok || !claim.Deleting || claim.Allocation == nil {
			delete(d.claims, topic.Key)
		} else if _, known := d.claims[topic.Key]; !known {
			d.claims[topic.Key] = false
		}
	}
}

// allIdle reports whether the consumers of a claim that is being deleted have no node or do not
// exist, and no pod of another scheduler names the claim: that one may be about to be bound. The
// claim's controller leaves such a claim to the scheduler while pods name it, since only the
// scheduler knows which of them it is about to bind.
func (d *deletedClaims) allIdle(claim *model.Claim) bool {
	busy := func(c model.Consumer) bool {
		return !d.isIdle(model.Key{Namespace: claim.Key.Namespace, Name: c.Name}, c)
	}
	return !slices.ContainsFunc(claim.Consumers, busy) && !d.feed.NamedByOthers(claim.Key)
}

// isIdle reports whether a consumer is a pod that waits for a node, a group with only such pods, or
// a group that does not exist. The claim controller removes pods that do not exist and those of
// other schedulers.
func (d *deletedClaims) isIdle(key model.Key, c model.Consumer) bool {
	if !model.IsPodConsumer(c) && d.state.Ended(key.Namespace, c) {
		return true
	}
	waits := func(pod *model.Pod) bool { return pod.Node == "" && !pod.Foreign }
	if model.IsPodConsumer(c) {
		pod, ok := d.state.Pods.Get(key)
		return ok && pod.UID == c.UID && waits(pod)
	}
	group, ok := d.state.Groups.Get(key)
	return ok && c == model.GroupConsumer(group.Key.Name, group.UID) &&
		!slices.ContainsFunc(d.state.Groups.Members(key), func(pod *model.Pod) bool { return !waits(pod) && !pod.Finished })
}

// freeOne frees a claim's devices concurrently.
func (d *deletedClaims) freeOne(ctx context.Context, held holding.Claim) {
	klog.V(2).InfoS("Freeing the devices of a claim that is being deleted", "claim", held.Key)
	d.claims[held.Key] = true
	d.runConcurrently(func() {
		seen, err := d.giveBackAll(ctx, []holding.Claim{held})
		d.feed.Enqueue(func() []model.Topic {
			again := func() []model.Topic {
				if d.claims[held.Key] {
					d.claims[held.Key] = false
				}
				return []model.Topic{{Kind: model.TopicClaim, Key: held.Key}}
			}
			if err != nil {
				klog.V(2).InfoS("Devices could not be freed", "claim", held.Key, "reason", err)
				d.runAfter(freeAgain, again)
				return nil
			}
			return append(d.applyWritten(seen), again()...)
		})
	})
}
