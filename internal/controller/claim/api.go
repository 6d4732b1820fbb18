package claim

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/groups"
)

// workers is the number of objects reconciled concurrently. Workers mostly wait for the server. The
// number is similar to the concurrency of a client that creates pods, so that claims keep up with
// pods in a burst.
const workers = 16

// Options are the settings of the controller.
type Options struct {
	// Features are the enabled features; the zero value enables all.
	Features features.Set
	// Scheduler is the name of the scheduler that creates the claims of its pods with their devices
	// (cluster.Caches.ExpectsClaims), or "" if none does. Their pods are left to it at first.
	Scheduler string
}

// New returns the controller of the claims in inf's caches. It must be called before inf is
// started.
func New(
	set *client.Set, inf *client.Informers, events reconciler.Recorder, meter Meter, opts Options,
) (*Controller, error) {
	caches := Caches{
		Pods: inf.Pods(), Groups: inf.PodGroups(), Claims: inf.ResourceClaims(),
		Templates: inf.ResourceClaimTemplates(), ClusterTemplates: inf.ClusterResourceClaimTemplates(),
	}
	if opts.Features.On(features.CompositePodGroup) {
		caches.Trees = inf.CompositePodGroups()
		if err := errors.Join(
			inf.PodGroups().AddIndex(groups.ParentIndex, groups.ParentKeys),
			inf.CompositePodGroups().AddIndex(groups.ParentIndex, groups.TreeParentKeys),
		); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(
		inf.Pods().AddIndex(groups.Index, groups.IndexKeys),
		inf.Pods().AddIndex(claims.PodIndex, claims.PodIndexKeys),
		inf.ResourceClaims().AddIndex(claimsByUser, claimUserKeys),
	); err != nil {
		return nil, err
	}
	others, err := newObjects(set.Config(), clock.RealClock{})
	if err != nil {
		return nil, err
	}
	api := server{set}
	c := newController(caches, Server{Owners: api, Claims: api, Live: api, Foreign: others}, events, meter,
		clock.RealClock{})
	c.features, c.scheduler = opts.Features, opts.Scheduler
	runner := reconciler.NewWithLanes("claim", c.Reconcile, c.lane,
		reconciler.Options{Workers: workers, Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	inf.Pods().OnChange(c.onPod)
	inf.PodGroups().OnChange(c.onGroup)
	if caches.Trees != nil {
		inf.CompositePodGroups().OnChange(c.onTree)
	}
	inf.ResourceClaims().OnChange(c.onClaim)
	inf.ResourceClaimTemplates().OnChange(c.onTemplate)
	inf.ClusterResourceClaimTemplates().OnChange(c.onClusterTemplate)
	return c, nil
}

// server implements the writers and readers with a client.Set.
type server struct{ set *client.Set }

// RecordPodClaims updates the cached version of the pod. A patch would cost the server more than
// twice as much, and conflicts are rare while a pod waits for its claims.
func (s server) RecordPodClaims(ctx context.Context, pod *core.Pod, records []corev1.PodResourceClaimStatus) error {
	pod = pod.DeepCopy()
	pod.Status.ResourceClaimStatuses = records
	_, err := s.set.Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func (s server) RecordGroupClaims(
	ctx context.Context, group *scheduling.PodGroup, records []corev1.PodResourceClaimStatus,
) error {
	// The list is replaced: no other component writes it after creation.
	patch, err := client.StatusPatch(group.UID, map[string]any{"resourceClaimStatuses": records})
	if err != nil {
		return err
	}
	_, err = s.set.PodGroups(group.Namespace).Patch(
		ctx,
		group.Name,
		types.MergePatchType,
		patch,
		metav1.PatchOptions{},
		"status",
	)
	return err
}

func (s server) RecordTreeClaims(
	ctx context.Context, tree *v1alpha3.CompositePodGroup, records []corev1.PodResourceClaimStatus,
) error {
	patch, err := client.StatusPatch(tree.UID, map[string]any{"resourceClaimStatuses": records})
	if err != nil {
		return err
	}
	_, err = s.set.CompositePodGroups(tree.Namespace).Patch(ctx, tree.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}, "status")
	return err
}

func (s server) CreateClaim(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	return s.set.ResourceClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
}

func (s server) UpdateClaimStatus(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	return s.set.ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
}

func (s server) UpdateClaim(ctx context.Context, claim *resource.ResourceClaim) error {
	_, err := s.set.ResourceClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
	return err
}

func (s server) DeleteClaim(ctx context.Context, claim *resource.ResourceClaim) error {
	return s.set.ResourceClaims(claim.Namespace).Delete(ctx, claim.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(claim.UID)),
	})
}

func (s server) LivePod(ctx context.Context, namespace, name string) (*core.Pod, error) {
	return s.set.Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) LiveGroup(ctx context.Context, namespace, name string) (*scheduling.PodGroup, error) {
	return s.set.PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) LiveClaim(ctx context.Context, namespace, name string) (*resource.ResourceClaim, error) {
	return s.set.ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}

// LivePods reads the current state without a minimum version: the cache of a server may take
// minutes to reach a version if no pod changes.
func (s server) LivePods(ctx context.Context, namespace string) (pods []*core.Pod, version string, err error) {
	list, err := s.set.Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, "", err
	}
	pods = make([]*core.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, list.ResourceVersion, nil
}
