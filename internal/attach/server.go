package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/groups"
)

// NewGroupClaims returns the controller on inf's caches. It must be called before they are started.
func NewGroupClaims(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*GroupClaims, error) {
	c := &GroupClaims{
		cache: groupClaimCaches{
			pods:      inf.Pods(),
			groups:    inf.PodGroups(),
			claims:    inf.ResourceClaims(),
			templates: inf.ResourceClaimTemplates(),
		},
		write: server{set}, events: events,
	}
	if err := errors.Join(
		inf.Pods().AddIndex(groups.Index, groups.IndexKeys),
		inf.PodGroups().AddIndex(groupsByTemplate, templateKeys),
		inf.PodGroups().AddIndex(groupsByClaim, claimKeys),
		inf.ResourceClaims().AddIndex(claimsByOwner, ownerKeys),
	); err != nil {
		return nil, err
	}
	runner := reconciler.New(GroupClaim, c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.run = runner.Run
	inf.PodGroups().OnChange(func(_, now *scheduling.PodGroup) {
		if now != nil {
			runner.Add(reconciler.KeyOf(now))
		}
	})
	inf.Pods().OnChange(func(before, after *core.Pod) {
		for _, key := range finished(before, after) {
			if group, ok := inf.PodGroups().Get(key.Namespace, key.Name); ok && group.DeletionTimestamp != nil {
				runner.Add(key)
			}
		}
	})
	inf.ResourceClaims().OnChange(func(before, after *resource.ResourceClaim) {
		if before != nil && after != nil && before.UID == after.UID {
			return // only creation and deletion matter
		}
		claim := after
		if claim == nil {
			claim = before
		}
		for _, group := range inf.PodGroups().ByIndex(groupsByClaim, claim.Namespace+"/"+claim.Name) {
			runner.Add(reconciler.KeyOf(group))
		}
	})
	inf.ResourceClaimTemplates().OnChange(func(_, now *resource.ResourceClaimTemplate) {
		if now == nil {
			return
		}
		for _, group := range inf.PodGroups().ByIndex(groupsByTemplate, now.Namespace+"/"+now.Name) {
			runner.Add(reconciler.KeyOf(group))
		}
	})
	return c, nil
}

func templateKeys(group *scheduling.PodGroup) []string {
	var out []string
	for _, entry := range generated(group) {
		out = append(out, group.Namespace+"/"+*entry.ResourceClaimTemplateName)
	}
	return out
}

func claimKeys(group *scheduling.PodGroup) []string {
	var out []string
	for _, entry := range generated(group) {
		out = append(out, group.Namespace+"/"+allotv1alpha1.GroupClaimName(group.Name, entry.Name))
	}
	return out
}

func ownerKeys(claim *resource.ResourceClaim) []string {
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

// finished returns the PodGroups that the pod no longer blocks.
func finished(before, after *core.Pod) []types.NamespacedName {
	if before == nil || after != nil && after.UID == before.UID && !after.Finished() {
		return nil
	}
	return groupsOf(before)
}

func groupsOf(pod *core.Pod) []types.NamespacedName {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return []types.NamespacedName{{Namespace: pod.Namespace, Name: *group.PodGroupName}}
	}
	return nil
}

// server implements groupClaimWriter with a client.Set.
type server struct{ set *client.Set }

// SetFinalizers replaces the finalizers of this version of the object.
func (s server) SetFinalizers(ctx context.Context, group *scheduling.PodGroup, finalizers []string) error {
	return s.patch(ctx, group, map[string]any{"metadata": map[string]any{
		"uid": group.UID, "resourceVersion": group.ResourceVersion, "finalizers": finalizers,
	}})
}

// Record replaces the list of claims.
func (s server) Record(
	ctx context.Context, group *scheduling.PodGroup, statuses []schedulingv1beta1.PodGroupResourceClaimStatus,
) error {
	return s.patch(ctx, group, map[string]any{
		"metadata": map[string]any{"uid": group.UID}, "status": map[string]any{"resourceClaimStatuses": statuses},
	}, "status")
}

func (s server) patch(
	ctx context.Context, group *scheduling.PodGroup, change map[string]any, subresources ...string,
) error {
	patch, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	_, err = s.set.PodGroups(group.Namespace).Patch(
		ctx,
		group.Name,
		types.MergePatchType,
		patch,
		metav1.PatchOptions{},
		subresources...)
	return err
}

func (s server) CreateClaim(ctx context.Context, claim *resource.ResourceClaim) error {
	_, err := s.set.ResourceClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	return err
}

func (s server) DeleteClaim(ctx context.Context, claim *resource.ResourceClaim) error {
	return s.set.ResourceClaims(claim.Namespace).Delete(ctx, claim.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(claim.UID)),
	})
}

func (s server) LiveClaim(ctx context.Context, namespace, name string) (*resource.ResourceClaim, error) {
	return s.set.ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}
