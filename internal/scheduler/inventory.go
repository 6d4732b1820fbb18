package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/allot-dev/allot/internal/inventory"
	"github.com/allot-dev/allot/internal/model"
)

const (
	// poolsPerStep is how many pools are counted before the loop continues: about a millisecond.
	poolsPerStep = 500
	// namedPools limits the pools of a driver that are counted by name.
	namedPools = 100
)

// errNotRunning is returned for counts of a scheduler that does not run, such as one that waits for
// its lease.
var errNotRunning = errors.New("the scheduler does not run")

// Counts returns how much there is of everything that the scheduler knows. It waits for the loop,
// which counts between two attempts.
func (s *Scheduler) Counts(ctx context.Context) (*inventory.Counts, error) {
	for {
		counts, err := onLoop(ctx, s.loop, s.census.count)
		if counts != nil || err != nil {
			return counts, err
		}
	}
}

// onLoop returns what fn returns on the loop.
func onLoop[T any](ctx context.Context, l *loop, fn func() T) (result T, err error) {
	if !l.started.Load() {
		return result, errNotRunning
	}
	results := make(chan T, 1)
	l.feed.Enqueue(func() []model.Topic {
		results <- fn()
		return nil
	})
	select {
	case result = <-results:
		return result, nil
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// census counts what the scheduler knows. It changes nothing.
type census struct {
	*unitQueue
	inventory *inventory.Inventory
}

// count returns nil if more pools have changed than one call counts.
func (c *census) count() *inventory.Counts {
	if !c.inventory.Update(poolsPerStep) {
		return nil
	}
	counts := &inventory.Counts{
		Pools: c.inventory.Pools(namedPools), Classes: c.inventory.Classes(),
		Claims: inventory.ClaimStates(func(yield func(*model.Claim) bool) { c.state.Claims.Each(yield) }),
		Pods:   map[inventory.PodQueue]int{}, Gangs: map[inventory.GangWait]int{}, Oldest: map[string]time.Duration{},
		Undecided: len(c.undecided),
	}
	c.countWaiting(counts)
	return counts
}

// countWaiting counts the pods without a node, and their gangs. It looks at the pods, not at the
// queue, so that no pod is missed that the queue does not have.
func (c *census) countWaiting(counts *inventory.Counts) {
	for _, queue := range inventory.PodQueues() {
		counts.Pods[queue] = 0
	}
	gangs := map[model.UnitKey]*model.Pod{} // with the oldest of their pods
	c.state.Pods.Each(func(pod *model.Pod) {
		if pod.Node != "" || !pod.Live() || pod.Foreign {
			return
		}
		key := c.state.UnitOfPod(pod)
		counts.Pods[c.queueOf(pod, key)]++
		if kindOf(key) == "gang" && (gangs[key] == nil || pod.Created.Before(gangs[key].Created)) {
			gangs[key] = pod
		}
	})
	now := c.clock.Now()
	for key, pod := range gangs {
		age, reason := now.Sub(c.createdAt(key, pod)), c.waitReason(key)
		counts.Gangs[inventory.GangWait{Reason: reason, Age: inventory.AgeOf(age)}]++
		counts.Oldest[reason] = max(counts.Oldest[reason], age)
	}
}

// createdAt returns when a gang was created, or its oldest pod if its group does not exist.
func (c *census) createdAt(key model.UnitKey, pod *model.Pod) time.Time {
	if group, ok := c.state.Groups.Get(key.Key); ok && key.Group {
		return group.Created
	}
	if tree, ok := c.state.Groups.Composites.Get(key.Key); ok && key.Tree {
		return tree.Created
	}
	return pod.Created
}
