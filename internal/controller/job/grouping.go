package job

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	batch "github.com/allot-dev/allot/api/batch/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/controller/expectations"
	"github.com/allot-dev/allot/internal/controller/ownership"
)

// workloadIndex is the name of the index of Workloads by workloadKeys.
const workloadIndex = "workloads by what controls them"

// group takes the next step for the Job's Workload and PodGroup.
func (c *Controller) group(ctx context.Context, job *batch.Job, plan Plan) (GroupStep, error) {
	if c.alone {
		return GroupStep{}, nil
	}
	g := Grouping{Groups: c.Groups.ByIndex(ownership.Index, string(job.UID))}
	for _, w := range c.Workloads.ByIndex(workloadIndex, workloadKeyOf(job)) {
		if Concerns(job, w) {
			g.Workloads = append(g.Workloads, w)
		}
	}
	step := NextGroupStep(job, plan, g)
	c.report(job, step.Why)
	return step, c.takeStep(ctx, job, step)
}

// report publishes why there is no PodGroup yet, once per reason.
func (c *Controller) report(job *batch.Job, why string) {
	c.mu.Lock()
	known := c.reportedReasons[job.UID]
	if why != "" && c.exists(job) {
		c.reportedReasons[job.UID] = why
	} else {
		delete(c.reportedReasons, job.UID)
	}
	c.mu.Unlock()
	if why != "" && why != known {
		c.events.Eventf(job, corev1.EventTypeWarning, "WaitingForPodGroup", "Waiting for PodGroup: %s", why)
	}
}

func (c *Controller) takeStep(ctx context.Context, job *batch.Job, step GroupStep) error {
	switch {
	case step.MakeWorkload != nil:
		return c.makeWorkload(ctx, job, step.MakeWorkload)
	case step.MakeGroup != nil:
		return c.makeGroup(ctx, job, step.MakeGroup)
	case step.Resize != nil:
		if err := c.write.Groups.Resize(ctx, step.Resize, step.MinCount); err != nil {
			return fmt.Errorf("resize PodGroup %s: %w", step.Resize.Name, err)
		}
	case step.DeleteGroup != nil:
		if err := c.write.Groups.Delete(ctx, step.DeleteGroup); err != nil && !isGone(err) {
			return fmt.Errorf("delete PodGroup %s: %w", step.DeleteGroup.Name, err)
		}
		c.own.groups.Deleted(job.UID, step.DeleteGroup)
	case step.DeleteWorkload != nil:
		if err := c.write.Workloads.Delete(ctx, step.DeleteWorkload); err != nil && !isGone(err) {
			return fmt.Errorf("delete Workload %s: %w", step.DeleteWorkload.Name, err)
		}
		c.own.workloads.Deleted(job.UID, step.DeleteWorkload)
	}
	return nil
}

func (c *Controller) makeWorkload(ctx context.Context, job *batch.Job, want *scheduling.Workload) error {
	made, err := c.write.Workloads.Create(ctx, want)
	if err != nil {
		return c.refused(job, "Workload", want.Name, err)
	}
	c.own.workloads.Created(job.UID, made)
	c.events.Eventf(job, corev1.EventTypeNormal, "WorkloadCreated", "Created Workload %s", made.Name)
	return nil
}

func (c *Controller) makeGroup(ctx context.Context, job *batch.Job, want *scheduling.PodGroup) error {
	made, err := c.write.Groups.Create(ctx, want)
	if err != nil {
		return c.refused(job, "PodGroup", want.Name, err)
	}
	c.own.groups.Created(job.UID, made)
	c.events.Eventf(job, corev1.EventTypeNormal, "PodGroupCreated", "Created PodGroup %s", made.Name)
	return nil
}

func (c *Controller) refused(job *batch.Job, what, name string, err error) error {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	// An existing one was created before a restart, and the cache will show it, or belongs to
	// another controller.
	c.events.Eventf(job, corev1.EventTypeWarning, "Failed"+what+"Create", "Error creating %s %s: %v", what, name, err)
	return fmt.Errorf("create %s %s: %w", what, name, err)
}

// onWorkload handles a change in the cache of Workloads, and enqueues the Jobs controlling it or
// with the same controller.
func (c *Controller) onWorkload(before, after *scheduling.Workload) {
	expectations.Observe(c.own.workloads, before, after)
	for _, w := range []*scheduling.Workload{before, after} {
		if w == nil {
			continue
		}
		for _, key := range workloadKeys(w) {
			for _, job := range c.Jobs.InNamespace(w.Namespace) {
				if workloadKeyOf(job) == key {
					c.enqueue(types.NamespacedName{Namespace: job.Namespace, Name: job.Name})
				}
			}
		}
	}
}

// onGroup handles a change in the cache of PodGroups.
func (c *Controller) onGroup(before, after *scheduling.PodGroup) {
	expectations.Observe(c.own.groups, before, after)
	watch := ownership.Watch[*batch.Job, *scheduling.PodGroup]{
		// PodGroups are not adopted
		Kind: kind, Ask: c.enqueue, InNamespace: func(string) []*batch.Job { return nil },
	}
	watch.OnChange(before, after)
}
