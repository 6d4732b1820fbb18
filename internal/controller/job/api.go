package job

import (
	"context"
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/ownership"
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
	c := newController(
		Caches{Jobs: jobs, Pods: pods, Workloads: workloads, Groups: groups},
		Server{
			Pods: objects.On(set.Pods), Jobs: objects.On(set.Jobs), Workloads: objects.On(set.Workloads),
			Groups: groupServer{objects.On(set.PodGroups), set},
		}, events, clock.RealClock{},
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

// groupServer reads and writes PodGroups with a client.Set.
type groupServer struct {
	objects.Server[*scheduling.PodGroup, *scheduling.PodGroupList]
	set *client.Set
}

// Resize implements groupWriter.
func (s groupServer) Resize(ctx context.Context, group *scheduling.PodGroup, minCount int32) error {
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
