package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/holding"
)

// loop is shared by all parts of the scheduler. It has the State, which only the loop's goroutine
// reads and changes, runs writes concurrently, and has their results handled by the loop.
type loop struct {
	feed            *cluster.Feed
	commit          committer
	status          *reporter
	clock           clock.WithDelayedExecution
	running         sync.WaitGroup
	spans           *spans
	runConcurrently func(func()) // runs writes concurrently; Run waits for them
	started         atomic.Bool  // whether Run handles events

	state  *model.State
	usage  holding.Usage
	placer *sched.Placer
}

// runAfter runs fn on the loop after delay.
func (l *loop) runAfter(delay time.Duration, fn message) {
	l.clock.AfterFunc(delay, func() { l.feed.Enqueue(fn) })
}

// finishLater looks for the victims of an eviction that failed after they got their condition, so
// that it is completed. The events by which the scheduler received the conditions may have passed.
func (l *loop) finishLater(pods []*model.Pod) {
	l.runAfter(lastRetry, func() []model.Topic {
		topics := make([]model.Topic, len(pods))
		for i, pod := range pods {
			topics[i] = model.Topic{Kind: model.TopicPod, Key: pod.Key}
		}
		return topics
	})
}

// giveBackAll deallocates unused claims and returns those that are free now.
func (l *loop) giveBackAll(ctx context.Context, unused []holding.Claim) ([]*resource.ResourceClaim, error) {
	var seen []*resource.ResourceClaim
	var errs []error
	for i := range unused {
		claim, err := l.commit.GiveBack(ctx, &unused[i])
		switch {
		case err != nil:
			errs = append(errs, err)
		case claim == nil || claim.UID != unused[i].UID || claim.Status.Allocation != nil:
			errs = append(errs, fmt.Errorf("claim %s also has other consumers", unused[i].Key))
		default:
			seen = append(seen, claim)
		}
	}
	return seen, errors.Join(errs...)
}

// applyWritten puts claims that were written into the State before the caches show them, so that no
// unit is placed with devices that were given back. The State ignores older versions that the
// caches show later.
func (l *loop) applyWritten(seen []*resource.ResourceClaim) []model.Topic {
	var topics []model.Topic
	for _, claim := range seen {
		if _, ok := l.feed.Claim(model.Key{Namespace: claim.Namespace, Name: claim.Name}); !ok {
			continue // the cache shows that it was deleted
		}
		topics = append(topics, l.state.Claims.Put(l.feed.Seen(claim))...)
	}
	return topics
}
