package attach

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/groups"
)

// reasonNoClaim is the reason of the event on a PodGroup that lacks a claim, as in upstream's
// controller.
const reasonNoClaim = "FailedResourceClaimCreation"

const (
	claimsByOwner    = "claims-by-owner"
	groupsByTemplate = "podgroups-by-template"
	groupsByClaim    = "podgroups-by-claim"
)

// groupClaimCaches holds the caches of the controller.
type groupClaimCaches struct {
	pods      indexed[*core.Pod]               // by groups.Index
	groups    indexed[*scheduling.PodGroup]    // by groupsByTemplate
	claims    indexed[*resource.ResourceClaim] // by claimsByOwner
	templates lookup[*resource.ResourceClaimTemplate]
}

type lookup[T any] interface {
	Get(namespace, name string) (T, bool)
}

type indexed[T any] interface {
	lookup[T]
	ByIndex(index, key string) []T
}

// groupClaimWriter makes the writes of the controller, and its only read that bypasses the caches.
type groupClaimWriter interface {
	SetFinalizers(ctx context.Context, group *scheduling.PodGroup, finalizers []string) error
	Record(ctx context.Context, group *scheduling.PodGroup, statuses []schedulingv1beta1.PodGroupResourceClaimStatus) error
	CreateClaim(ctx context.Context, claim *resource.ResourceClaim) error
	DeleteClaim(ctx context.Context, claim *resource.ResourceClaim) error
	LiveClaim(ctx context.Context, namespace, name string) (*resource.ResourceClaim, error)
}

// GroupClaims generates the claims of PodGroups of allot.dev. The name of a claim is derived from
// the names of the PodGroup and the entry, so that pods can name it. To a stock API server, kubelet
// and controller manager it is an ordinary claim that is reserved for pods, and deallocated when
// the last one finishes.
//
// Invariant: a PodGroup is removed only after its claims, so that a new one of the same name starts
// with its own claims.
type GroupClaims struct {
	cache  groupClaimCaches
	write  groupClaimWriter
	events reconciler.Recorder
	said   eventDeduper
	run    func(context.Context) error
}

// Run reconciles until ctx is done.
func (c *GroupClaims) Run(ctx context.Context) error { return c.run(ctx) }

// Reconcile creates the missing claims of a PodGroup, or deletes its claims if it is being deleted.
func (c *GroupClaims) Reconcile(ctx context.Context, key types.NamespacedName) error {
	group, ok := c.cache.groups.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	protected := slices.Contains(group.Finalizers, allotv1alpha1.GroupClaimsFinalizer)
	switch {
	case group.DeletionTimestamp != nil && protected:
		return c.takeAway(ctx, group)
	case group.DeletionTimestamp != nil:
		return nil
	}
	entries := generated(group)
	if len(entries) > 0 && !protected {
		// The update triggers another reconcile. No claim is created for a PodGroup that could be
		// removed without it.
		return client.IgnoreNotFound(
			c.write.SetFinalizers(ctx, group, append(slices.Clone(group.Finalizers), allotv1alpha1.GroupClaimsFinalizer)),
		)
	}
	return c.ensureAll(ctx, group, entries)
}

// generated returns the entries with a template.
func generated(group *scheduling.PodGroup) []scheduling.PodGroupResourceClaim {
	var out []scheduling.PodGroupResourceClaim
	for i := range group.Spec.ResourceClaims {
		if group.Spec.ResourceClaims[i].ResourceClaimTemplateName != nil {
			out = append(out, group.Spec.ResourceClaims[i])
		}
	}
	return out
}

// ensureAll creates missing claims, records existing ones in the status, and reports the others.
func (c *GroupClaims) ensureAll(
	ctx context.Context, group *scheduling.PodGroup, entries []scheduling.PodGroupResourceClaim,
) error {
	var statuses []schedulingv1beta1.PodGroupResourceClaimStatus
	var problems []string
	for i := range entries {
		name := allotv1alpha1.GroupClaimName(group.Name, entries[i].Name)
		problem, err := c.ensure(ctx, group, &entries[i], name)
		switch {
		case err != nil:
			return fmt.Errorf("podgroup %s/%s: %w", group.Namespace, group.Name, err)
		case problem != "":
			problems = append(problems, fmt.Sprintf("claim %q: %s", entries[i].Name, problem))
		default:
			statuses = append(statuses,
				schedulingv1beta1.PodGroupResourceClaimStatus{Name: entries[i].Name, ResourceClaimName: &name})
		}
	}
	text := strings.Join(problems, "; ")
	if c.said.isNew(group.UID, text) {
		c.events.Eventf(group, corev1.EventTypeWarning, reasonNoClaim, "%s", text)
	}
	if apiequality.Semantic.DeepEqual(statuses, group.Status.ResourceClaimStatuses) {
		return nil
	}
	if err := client.IgnoreNotFound(c.write.Record(ctx, group, statuses)); err != nil {
		return fmt.Errorf("podgroup %s/%s: record claims: %w", group.Namespace, group.Name, err)
	}
	return nil
}

// ensure returns why the entry cannot have its claim now, or "".
func (c *GroupClaims) ensure(
	ctx context.Context, group *scheduling.PodGroup, entry *scheduling.PodGroupResourceClaim, name string,
) (problem string, err error) {
	if claim, ok := c.cache.claims.Get(group.Namespace, name); ok {
		return foreignTo(group, claim), nil
	}
	template, ok := c.cache.templates.Get(group.Namespace, *entry.ResourceClaimTemplateName)
	if !ok {
		return fmt.Sprintf("ResourceClaimTemplate %s does not exist", *entry.ResourceClaimTemplateName), nil
	}
	switch err := c.write.CreateClaim(ctx, claimFor(group, entry.Name, name, template)); {
	case apierrors.IsAlreadyExists(err): // the cache is behind
		claim, err := c.write.LiveClaim(ctx, group.Namespace, name)
		if err != nil {
			return "", fmt.Errorf("look for claim %s: %w", name, err)
		}
		return foreignTo(group, claim), nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "the namespace is being deleted", nil
	case err != nil:
		return "", fmt.Errorf("create claim %s: %w", name, err)
	}
	return "", nil
}

// foreignTo describes a claim with the expected name that does not belong to the PodGroup.
func foreignTo(group *scheduling.PodGroup, claim *resource.ResourceClaim) string {
	switch owner := metav1.GetControllerOfNoCopy(claim); {
	case owner == nil:
		return fmt.Sprintf("the name %s is taken by a ResourceClaim that somebody has made", claim.Name)
	case owner.UID != group.UID:
		return fmt.Sprintf("the name %s is taken by a ResourceClaim of %s %s", claim.Name, owner.Kind, owner.Name)
	}
	return ""
}

func claimFor(
	group *scheduling.PodGroup, entry, name string, template *resource.ResourceClaimTemplate,
) *resource.ResourceClaim {
	annotations := maps.Clone(template.Spec.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[claims.GroupClaimAnnotation] = entry
	yes := true
	return &resource.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: group.Namespace, Name: name, Labels: maps.Clone(template.Spec.Labels), Annotations: annotations,
			Finalizers: []string{claims.Finalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: allotv1alpha1.SchemeGroupVersion.String(), Kind: "PodGroup", Name: group.Name, UID: group.UID,
				Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: *template.Spec.Spec.DeepCopy(),
	}
}

// takeAway deletes the claims of a PodGroup that is being deleted, once its pods have finished, and
// then removes the finalizer.
func (c *GroupClaims) takeAway(ctx context.Context, group *scheduling.PodGroup) error {
	pods := c.cache.pods.ByIndex(groups.Index, groups.IndexKey(group.Namespace, group.Name))
	if _, blocking := groups.Protect(group, pods); len(blocking) > 0 {
		return nil // pods that finish trigger another reconcile
	}
	left := c.cache.claims.ByIndex(claimsByOwner, string(group.UID))
	if len(left) == 0 {
		var err error
		if left, err = c.uncachedClaims(ctx, group); err != nil {
			return err
		}
	}
	for _, claim := range left {
		if claim.DeletionTimestamp != nil {
			continue
		}
		if err := client.IgnoreNotFound(c.write.DeleteClaim(ctx, claim)); err != nil {
			return fmt.Errorf("podgroup %s/%s: delete claim %s: %w", group.Namespace, group.Name, claim.Name, err)
		}
	}
	if len(left) > 0 {
		return nil
	}
	c.said.isNew(group.UID, "")
	return client.IgnoreNotFound(
		c.write.SetFinalizers(ctx, group, slices.DeleteFunc(slices.Clone(group.Finalizers), func(f string) bool {
			return f == allotv1alpha1.GroupClaimsFinalizer
		})),
	)
}

// uncachedClaims returns claims that are not in the cache yet.
func (c *GroupClaims) uncachedClaims(
	ctx context.Context, group *scheduling.PodGroup,
) ([]*resource.ResourceClaim, error) {
	var out []*resource.ResourceClaim
	for _, entry := range generated(group) {
		claim, err := c.write.LiveClaim(ctx, group.Namespace, allotv1alpha1.GroupClaimName(group.Name, entry.Name))
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("podgroup %s/%s: look for its claims: %w", group.Namespace, group.Name, err)
		case foreignTo(group, claim) == "":
			out = append(out, claim)
		}
	}
	return out, nil
}
