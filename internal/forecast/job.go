package forecast

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/controller/job"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/model"
)

// job makes one pass over a Job: its Workload and PodGroup first, then its pods, then its status.
func (s *simulation) job(owner ownerKey, j *batch.Job) {
	if ptr.Deref(j.Spec.ManagedBy, batchv1.JobControllerName) != batchv1.JobControllerName {
		return
	}
	pods := s.world.Pods.ByIndex(byOwner, string(j.UID))
	if _, finished := j.Finished(); finished {
		return
	}
	plan := job.Decide(j, pods, job.Backoff{}, s.now)
	step := job.GroupStep{}
	if s.world.Features.On(features.GenericWorkload) {
		step = job.NextGroupStep(j, plan, s.grouping(j))
	}
	if !s.takeGroupStep(owner, j, step) {
		return
	}
	if step.Wait {
		plan.WaitFor(step)
	}
	outcome := job.Outcome{}
	for _, pod := range slices.Concat(plan.Stop, plan.Drop) {
		s.recordEnd(pod, Delete, owner.String()+" does not want it any more")
		s.removePod(pod)
		outcome.Deleted = append(outcome.Deleted, pod)
	}
	for _, want := range plan.Create {
		if !s.createFor(owner, job.NewPod(j, want, step.Group)) {
			break
		}
		outcome.Created++
	}
	if status := outcome.Status(plan); !equality.Semantic.DeepEqual(status, j.Status) {
		updated := *j
		updated.Status = status
		s.put(&updated)
	}
	for _, pod := range plan.Release {
		if pod.DeletionTimestamp != nil {
			s.removePod(pod)
			continue
		}
		released := *pod
		released.Finalizers = slices.DeleteFunc(slices.Clone(pod.Finalizers),
			func(f string) bool { return f == batchv1.JobTrackingFinalizer })
		s.world.Pods.Put(&released)
	}
}

// grouping returns the Workloads and PodGroups of a Job.
func (s *simulation) grouping(j *batch.Job) job.Grouping {
	g := job.Grouping{Groups: s.world.PodGroups.ByIndex(byOwner, string(j.UID))}
	for _, w := range s.world.Workloads.List() {
		if w.Namespace == j.Namespace && job.IsFor(j, w) {
			g.Workloads = append(g.Workloads, w)
		}
	}
	return g
}

// takeGroupStep takes the next step for the Workload and PodGroup of a Job. It reports false if the
// server refuses it.
func (s *simulation) takeGroupStep(owner ownerKey, j *batch.Job, step job.GroupStep) bool {
	switch {
	case step.MakeWorkload != nil:
		s.owners.add(j)
		return s.createFor(owner, step.MakeWorkload)
	case step.MakeGroup != nil:
		return s.createFor(owner, step.MakeGroup)
	case step.Resize != nil:
		resized := step.Resize.DeepCopy()
		resized.Spec.SchedulingPolicy.Gang.MinCount = step.MinCount
		s.put(resized)
	case step.DeleteGroup != nil:
		s.remove(step.DeleteGroup, owner.String()+" has ended")
	case step.DeleteWorkload != nil:
		s.world.Workloads.Delete(model.KeyOf(step.DeleteWorkload))
	case step.Why != "":
		s.problems[owner.String()] = Problem{Object: owner.String(), Reason: "it has no PodGroup: " + step.Why}
	}
	return true
}
