package job

import (
	"context"
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/podserver"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the Jobs in inf's caches. It must be called before inf is started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	pods, jobs, workloads, groups := inf.Pods(), inf.Jobs(), inf.Workloads(), inf.PodGroups()
	if err := errors.Join(
		pods.AddIndex(ownership.Index, ownership.Keys[*core.Pod]),
		groups.AddIndex(ownership.Index, ownership.Keys[*scheduling.PodGroup]),
		workloads.AddIndex(workloadIndex, workloadKeys),
	); err != nil {
		return nil, err
	}
	api := server{set}
	c := newController(
		Caches{Jobs: jobs, Pods: pods, Workloads: workloads, Groups: groups},
		Server{Pods: podserver.New(set), Jobs: api, Workloads: api, Groups: api}, events, clock.RealClock{},
	)
	c.pods.Follow(pods.Reached)
	c.own.follow(pods.Reached, c.own.released)
	c.own.follow(jobs.Reached, c.own.statuses)
	c.own.follow(workloads.Reached, c.own.workloads)
	c.own.follow(groups.Reached, c.own.groups)
	c.alone = !inf.Has("podgroups")
	runner := reconciler.New("job", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	jobs.OnChange(c.onJob)
	pods.OnChange(c.onPod)
	workloads.OnChange(c.onWorkload)
	groups.OnChange(c.onGroup)
	return c, nil
}

// server implements the writers with a client.Set.
type server struct{ set *client.Set }

func (s server) LiveJob(ctx context.Context, namespace, name string) (*batch.Job, error) {
	return s.set.Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) UpdateJobStatus(ctx context.Context, job *batch.Job) (*batch.Job, error) {
	return s.set.Jobs(job.Namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{})
}

func (s server) CreateWorkload(ctx context.Context, w *scheduling.Workload) (*scheduling.Workload, error) {
	return s.set.Workloads(w.Namespace).Create(ctx, w, metav1.CreateOptions{})
}

func (s server) DeleteWorkload(ctx context.Context, w *scheduling.Workload) error {
	return s.set.Workloads(w.Namespace).Delete(ctx, w.Name, only(w))
}

func (s server) CreatePodGroup(ctx context.Context, group *scheduling.PodGroup) (*scheduling.PodGroup, error) {
	return s.set.PodGroups(group.Namespace).Create(ctx, group, metav1.CreateOptions{})
}

func (s server) ResizePodGroup(ctx context.Context, group *scheduling.PodGroup, minCount int32) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": group.UID},
		"spec":     map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": minCount}}},
	})
	if err != nil {
		return err
	}
	_, err = s.set.PodGroups(group.Namespace).Patch(ctx, group.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (s server) DeletePodGroup(ctx context.Context, group *scheduling.PodGroup) error {
	return s.set.PodGroups(group.Namespace).Delete(ctx, group.Name, only(group))
}

// only returns options with a UID precondition, so that a recreated object is not deleted.
func only(obj metav1.Object) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(obj.GetUID()))}
}
