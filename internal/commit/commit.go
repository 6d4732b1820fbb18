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
	"github.com/allot-dev/allot/internal/sched/plan"
)

// New returns a Committer that writes through set, with at most parallel concurrent writes.
func New(set *client.Set, cached Cache, clk clock.Clock, parallel int64) *Committer {
	c := NewOn(claimClient{set}, podClient{set}, cached, clk, parallel)
	c.placements.api = set
	return c
}

// NewOn returns a Committer for any implementation of the API that binds pods one by one.
func NewOn(claims ClaimAPI, binds Binder, cached Cache, clk clock.Clock, parallel int64) *Committer {
	return &Committer{
		reader: reader{claims: claims, binds: binds, sleep: sleeper(clk)},
		cache:  cached,
		clock:  clk,
		turns:  newTurns(),
		writes: semaphore.NewWeighted(parallel),
	}
}

// Commit writes a plan: all claims, then all binds. It returns when all writes have completed. If
// ctx ends first, unwritten binds count as failed. If the server refuses the binds as a whole, the
// claims are reverted. Expected claims are created together with the binds, where the server can do
// that.
func (c *Committer) Commit(ctx context.Context, plan *plan.Plan) Result {
	write := &placementWrite{Committer: c, plan: plan}
	switch creates, err := write.createClaims(ctx); {
	case err != nil:
		return Result{Failed: failAll(plan.Pods, err)}
	case creates:
		if result := c.commit(ctx, write); !errors.Is(result.Refused, errNoClaims) {
			return result
		}
	}
	return c.commit(ctx, &placementWrite{Committer: c, plan: plan})
}

// commit writes the claims that exist or are created by themselves, and then the rest.
func (c *Committer) commit(ctx context.Context, write *placementWrite) Result {
	before := write.planBefore()
	written, result := c.claimsOf(ctx, before)
	if result.Refused != nil {
		return result
	}
	if result = c.bindsOf(ctx, write); result.Refused != nil {
		c.revert(ctx, before, written, &result)
	}
	return result
}

// Claims writes the claims of a plan, all or none. If the plan is refused, the result has the
// reason.
func (c *Committer) Claims(ctx context.Context, plan *plan.Plan) Result {
	_, result := c.claimsOf(ctx, plan)
	return result
}

// claimsOf writes the claims of a plan, and returns them as they were written.
func (c *Committer) claimsOf(ctx context.Context, plan *plan.Plan) (map[model.Key]written, Result) {
	if err := c.checkGroups(ctx, plan); err != nil {
		return nil, Result{Refused: err}
	}
	written, err := c.writeClaims(ctx, plan.Claims)
	if err == nil {
		err = c.checkReliances(ctx, plan.Relies)
	}
	result := Result{Refused: err}
	if err != nil {
		c.revert(ctx, plan, written, &result)
	}
	return written, result
}

// revert reverts the writes of the claims of a refused plan, and adds them to the result.
func (c *Committer) revert(ctx context.Context, plan *plan.Plan, written map[model.Key]written, result *Result) {
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
}

// Binds writes the binds of a plan with written claims. If the server binds the pods of a gang or
// tree as a whole and refuses that, no pod is bound, and the result has the reason. Otherwise it has
// the binds that failed, and nothing may be reverted: a bind may have been written although its
// response was lost, and the claim controller releases the claims of deleted pods.
func (c *Committer) Binds(ctx context.Context, plan *plan.Plan) Result {
	return c.bindsOf(ctx, &placementWrite{Committer: c, plan: plan})
}

// bindsOf writes the binds of a plan, and creates the claims that are created with them.
func (c *Committer) bindsOf(ctx context.Context, write *placementWrite) Result {
	pods := write.plan.Pods
	whole, err := write.possible(ctx)
	switch {
	case err != nil:
		return Result{Failed: failAll(pods, err)}
	case !whole:
		return Result{Failed: c.bindEach(ctx, pods)}
	}
	if err := c.recordEach(ctx, pods); err != nil {
		return Result{Refused: err}
	}
	return write.write(ctx)
}

// bindEach binds pods one by one, and returns those that failed.
func (c *Committer) bindEach(ctx context.Context, binds []plan.Pod) map[model.Key]error {
	return c.tryEach(ctx, binds, c.writeBind)
}

// tryEach calls write for each pod, and returns the pods for which it failed, or was not called
// because ctx ended.
func (c *Committer) tryEach(
	ctx context.Context, binds []plan.Pod, write func(context.Context, *plan.Pod) error,
) map[model.Key]error {
	var mu sync.Mutex
	failed := failAll(binds, context.Canceled)
	c.each(ctx, len(binds), func(i int) {
		err := write(ctx, &binds[i])
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

// writeClaims writes all claims concurrently. It returns the written ones even if others failed.
func (c *Committer) writeClaims(ctx context.Context, claims []plan.Claim) (map[model.Key]written, error) {
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

// each calls f for 0 to n-1, with the concurrency limit for writes. It stops when ctx ends.
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

// writeBind binds one pod. It succeeds if the pod is already on that node, because the response to
// an earlier attempt may have been lost. If it fails, the pod is known not to be on the node, or
// ctx has ended.
func (c *Committer) writeBind(ctx context.Context, bind *plan.Pod) error {
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

// recordAndBind first records the pod's node-allocatable resources and its extended resource claim
// in the status, so that they are known to all components when the pod is bound.
func (c *Committer) recordAndBind(ctx context.Context, bind *plan.Pod, binding *corev1.Binding) error {
	if hasRecord(bind) {
		if err := c.binds.Record(ctx, bind); err != nil {
			return err
		}
	}
	return c.binds.Bind(ctx, binding)
}

// hasRecord reports whether the plan has fields for the status of the pod.
func hasRecord(bind *plan.Pod) bool { return len(bind.Draws) > 0 || bind.Extended != nil }

// recordEach writes the fields for the status of each pod before any is bound.
func (c *Committer) recordEach(ctx context.Context, binds []plan.Pod) error {
	var with []plan.Pod
	for i := range binds {
		if hasRecord(&binds[i]) {
			with = append(with, binds[i])
		}
	}
	failed := c.tryEach(ctx, with, func(ctx context.Context, bind *plan.Pod) error {
		for attempt := 0; ; attempt++ {
			err := c.binds.Record(ctx, bind)
			if err == nil || attempt == maxAttempts || !retriable(err) {
				return refusedIfGone(err, "record the claims of pod %s", bind.Pod)
			}
			if err := c.pause(ctx, attempt); err != nil {
				return err
			}
		}
	})
	for i := range with {
		if err := failed[with[i].Pod]; err != nil {
			return err
		}
	}
	return nil
}

// claimClient implements ClaimAPI with a client.Set.
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

// podClient implements Binder with a client.Set.
type podClient struct {
	set *client.Set
}

func (c podClient) Bind(ctx context.Context, binding *corev1.Binding) error {
	return c.set.Bind(ctx, binding)
}

func (c podClient) Record(ctx context.Context, bind *plan.Pod) error {
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
	pod, err := c.set.Pods(bind.Pod.Namespace).Patch(
		ctx,
		bind.Pod.Name,
		types.MergePatchType,
		patch,
		metav1.PatchOptions{},
		"status",
	)
	if err != nil {
		return err
	}
	if bind.Extended != nil && pod.Status.ExtendedResourceClaimStatus == nil {
		// Without the field, the node would run the pod without devices.
		return fmt.Errorf(
			"the server does not keep extendedResourceClaimStatus of pod %s: its feature DRAExtendedResource is off", bind.Pod,
		)
	}
	return nil
}

func (c podClient) Group(ctx context.Context, namespace string, of model.Consumer) (Group, error) {
	if model.IsCompositeConsumer(of) {
		tree, err := c.set.CompositePodGroups(namespace).Get(ctx, of.Name, metav1.GetOptions{})
		if err != nil {
			return Group{}, err
		}
		return Group{UID: tree.UID}, nil
	}
	group, err := c.set.PodGroups(namespace).Get(ctx, of.Name, metav1.GetOptions{})
	if err != nil {
		return Group{}, err
	}
	facts := Group{UID: group.UID}
	if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
		facts.MinCount = int(gang.MinCount)
	}
	return facts, nil
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
