package commit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// New makes a Committer that writes through set, and has at most parallel writes under way.
func New(set *client.Set, cached Cache, clk clock.Clock, parallel int64) *Committer {
	return NewOn(claimClient{set}, podClient{set}, cached, clk, parallel)
}

// NewOn makes a Committer on any API.
func NewOn(claims ClaimAPI, binds Binder, cached Cache, clk clock.Clock, parallel int64) *Committer {
	return &Committer{claims: claims, binds: binds, cache: cached, clock: clk, turns: newTurns(), writes: semaphore.NewWeighted(parallel), sleep: sleeper(clk)}
}

// Commit writes a plan: all claims, then all binds. It returns when every write has
// an answer. When ctx ends in between, what is unwritten counts as failed.
func (c *Committer) Commit(ctx context.Context, plan *sched.Plan) Result {
	result := c.Claims(ctx, plan)
	if result.Refused == nil {
		result.Failed = c.Binds(ctx, plan)
	}
	return result
}

// Claims writes the first half of a plan, all or none: if it does not hold, the result says why.
func (c *Committer) Claims(ctx context.Context, plan *sched.Plan) Result {
	if err := c.checkMinCount(ctx, plan); err != nil {
		return Result{Refused: err}
	}
	written, err := c.writeClaims(ctx, plan.Claims)
	if err == nil {
		err = c.checkReliances(ctx, plan.Relies)
	}
	if err == nil {
		return Result{}
	}
	result := Result{Refused: err}
	for i := range plan.Claims {
		want := &plan.Claims[i]
		w, ok := written[want.Key]
		if !ok {
			continue
		}
		claim, err := c.takeBack(ctx, w, want)
		result.Refused = errors.Join(result.Refused, err)
		if claim != nil {
			result.TakenBack = append(result.TakenBack, claim)
		}
	}
	return result
}

// Binds writes the second half of a plan, when its claims are in the API, and gives what was not written. From here
// on nothing is taken back: a bind whose answer was lost may have been written, and a pod that is gone is released by
// the claim controller.
func (c *Committer) Binds(ctx context.Context, plan *sched.Plan) map[model.Key]error {
	var mu sync.Mutex
	binds, failed := plan.Pods, map[model.Key]error{}
	for _, b := range binds { // what is never tried, because ctx ends, has failed
		failed[b.Pod] = context.Canceled
	}
	c.each(ctx, len(binds), func(i int) {
		err := c.writeBind(ctx, &binds[i])
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed[binds[i].Pod] = err
			return
		}
		delete(failed, binds[i].Pod)
	})
	return failed
}

// writeClaims writes all claims at once, and gives those that were written even when others were not.
func (c *Committer) writeClaims(ctx context.Context, claims []sched.ClaimPlan) (map[model.Key]written, error) {
	var mu sync.Mutex
	done, errs := map[model.Key]written{}, []error(nil)
	c.each(ctx, len(claims), func(i int) {
		w, err := c.writeClaim(ctx, &claims[i])
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			errs = append(errs, err)
			return
		}
		done[claims[i].Key] = w
	})
	if len(errs) == 0 && len(done) < len(claims) {
		errs = append(errs, ctx.Err())
	}
	return done, errors.Join(errs...)
}

// each calls f for 0 to n-1, as many at a time as writes may be under way. It stops calling when ctx ends.
func (c *Committer) each(ctx context.Context, n int, f func(i int)) {
	var running sync.WaitGroup
	for i := range n {
		if c.writes.Acquire(ctx, 1) != nil {
			break
		}
		running.Go(func() {
			defer c.writes.Release(1)
			f(i)
		})
	}
	running.Wait()
}

// writeBind binds one pod. Finding the pod on that node already is a success: the answer to an earlier attempt, or to
// an earlier plan's, was lost. When it fails, the pod is known not to be there, or ctx has ended.
func (c *Committer) writeBind(ctx context.Context, bind *sched.Placement) error {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: bind.Pod.Namespace, Name: bind.Pod.Name, UID: bind.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: bind.Node},
	}
	for attempt := 0; ; attempt++ {
		err := c.recordAndBind(ctx, bind, binding)
		if err == nil {
			return nil
		}
		if attempt == maxAttempts || apierrors.IsConflict(err) || !retriable(err) {
			return c.outcome(ctx, bind, err)
		}
		if err := c.pause(ctx, attempt); err != nil {
			return fmt.Errorf("bind pod %s: %w", bind.Pod, err)
		}
	}
}

// recordAndBind records first what the pod draws from the node, and which claim stands in the place of extended resources:
// whoever sees it there counts and prepares that, too.
func (c *Committer) recordAndBind(ctx context.Context, bind *sched.Placement, binding *corev1.Binding) error {
	if len(bind.Draws) > 0 || bind.Extended != nil {
		if err := c.binds.Record(ctx, bind); err != nil {
			return err
		}
	}
	return c.binds.Bind(ctx, binding)
}

// claimClient reads and writes claims through a client.Set.
type claimClient struct {
	set *client.Set
}

func (c claimClient) Get(ctx context.Context, key model.Key) (*resource.ResourceClaim, error) {
	return c.set.ResourceClaims(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}

func (c claimClient) Update(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	return c.set.ResourceClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
}

func (c claimClient) UpdateStatus(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	return c.set.ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
}

func (c claimClient) Create(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	return c.set.ResourceClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
}

func (c claimClient) Delete(ctx context.Context, claim *resource.ResourceClaim) error {
	version := claim.ResourceVersion
	return c.set.ResourceClaims(claim.Namespace).Delete(ctx, claim.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &claim.UID, ResourceVersion: &version},
	})
}

// podClient binds pods through a client.Set.
type podClient struct {
	set *client.Set
}

func (c podClient) Bind(ctx context.Context, binding *corev1.Binding) error {
	return c.set.Bind(ctx, binding)
}

func (c podClient) Record(ctx context.Context, bind *sched.Placement) error {
	fields := map[string]any{}
	if len(bind.Draws) > 0 {
		fields["nodeAllocatableResourceClaimStatuses"] = bind.Draws
	}
	if bind.Extended != nil {
		fields["extendedResourceClaimStatus"] = bind.Extended
	}
	patch, err := client.StatusPatch(bind.UID, fields)
	if err != nil {
		return fmt.Errorf("the status of pod %s: %w", bind.Pod, err)
	}
	pod, err := c.set.Pods(bind.Pod.Namespace).Patch(ctx, bind.Pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	if bind.Extended != nil && pod.Status.ExtendedResourceClaimStatus == nil {
		// The node would run it without devices.
		return fmt.Errorf("the server does not keep extendedResourceClaimStatus of pod %s: its feature DRAExtendedResource is off", bind.Pod)
	}
	return nil
}

func (c podClient) MinCount(ctx context.Context, key model.Key, uid types.UID) (int, error) {
	group, err := c.set.PodGroups(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil || group.UID != uid || group.Spec.SchedulingPolicy.Gang == nil {
		return 0, err
	}
	return int(group.Spec.SchedulingPolicy.Gang.MinCount), nil
}

func (c podClient) BoundTo(ctx context.Context, key model.Key, uid types.UID) (string, error) {
	pod, err := c.set.Pods(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && pod.UID != uid {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return pod.Spec.NodeName, nil
}
