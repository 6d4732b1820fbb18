package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
)

// rollBackAfter is how long a gang may stay half-bound while it cannot be finished: time for
// its controller to replace members that are gone.
const rollBackAfter = 10 * time.Second

// evictor deletes a pod, if it is still the one that is meant.
type evictor interface {
	Evict(ctx context.Context, pod *model.Pod) error
}

// followHalfBound keeps the time since when a half-bound gang could not be finished, and rolls
// it back when that has been too long (SPEC R50).
func (s *Scheduler) followHalfBound(ctx context.Context, unit *model.Unit, placed bool) {
	if !unit.HalfBound || placed {
		delete(s.halfBound, unit.Key)
		return
	}
	now := s.clock.Now()
	since, known := s.halfBound[unit.Key]
	if !known {
		s.halfBound[unit.Key] = now
		s.retryAfter(unit.Key, rollBackAfter)
		return
	}
	if now.Sub(since) < rollBackAfter {
		return
	}
	delete(s.halfBound, unit.Key)
	s.rollBack(ctx, unit)
}

// rollBack deletes the bound members of a gang, so that it is as if it had never been placed.
func (s *Scheduler) rollBack(ctx context.Context, unit *model.Unit) {
	klog.InfoS("Rolling back a gang that was left half-bound and cannot be finished", "podGroup", unit.Key.Key)
	var bound []*model.Pod
	for _, pod := range s.state.Members(unit.Key.Key) {
		if pod.Counts() && pod.Live() && !s.state.Assumed(pod.Key) {
			bound = append(bound, pod)
		}
	}
	s.running.Go(func() {
		var errs []error
		for _, pod := range bound {
			errs = append(errs, s.evict.Evict(ctx, pod))
		}
		if err := errors.Join(errs...); err != nil {
			klog.ErrorS(err, "Rolling back a half-bound gang", "podGroup", unit.Key.Key)
		}
	})
}

// podEvictor deletes pods through a client.Set.
type podEvictor struct {
	set *client.Set
}

func (e podEvictor) Evict(ctx context.Context, pod *model.Pod) error {
	err := e.set.Pods(pod.Key.Namespace).Delete(ctx, pod.Key.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete pod %s: %w", pod.Key, err)
	}
	return nil
}
