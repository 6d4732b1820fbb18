package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/features"
)

const (
	// reasonFailed is upstream's reason for the event on a pod or PodGroup that lacks a claim.
	reasonFailed = "FailedResourceClaimCreation"
	// maxRounds limits the reads and creates for one owner in one pass. An entry needs two rounds,
	// and one more for each name that is taken.
	maxRounds = 8
	// unsurePeriod is how long a pod waits for its record if it cannot be told with which claim it
	// was bound.
	unsurePeriod = time.Second
)

// reconcilePod creates missing claims of the pod, records all of them, and adds missing
// reservations if the pod is scheduled.
func (c *Controller) reconcilePod(ctx context.Context, key Key) error {
	pod, ok := c.cache.Pods.Get(key.Namespace, key.Name)
	if !ok || pod.DeletionTimestamp != nil || claims.PodDone(pod) {
		c.waitSince.drop(key)
		return nil
	}
	var group *scheduling.PodGroup
	if name, member := claims.GroupName(pod); member {
		group, _ = c.cache.Groups.Get(pod.Namespace, name)
	}
	if left := c.leftToScheduler(pod, group); left > 0 {
		c.queue.AddAfter(key, left)
		return nil
	}
	owner, err := c.ownerOf(ctx, pod, group)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	records, err := c.settle(ctx, key, pod, owner)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if records != nil {
		if err := c.server.Owners.RecordPodClaims(ctx, pod, records); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("%s: record claims: %w", key, err)
		}
	}
	if pod.Spec.NodeName == "" {
		return nil
	}
	return c.reserve(ctx, pod, group)
}

// ownerOf returns the pod as an owner of claims. A pod that was bound before its status named the
// claims of its group is looked at again if it cannot be told which these were.
func (c *Controller) ownerOf(ctx context.Context, pod *core.Pod, group *scheduling.PodGroup) (claims.Owner, error) {
	owner := claims.PodOwner(pod, group)
	if pod.Spec.NodeName != "" && group != nil && claims.LacksRecord(pod) {
		generated, err := c.generatedFor(ctx, group)
		if err != nil {
			return claims.Owner{}, err
		}
		var unsure bool
		if owner, unsure = owner.WithFormerClaims(pod, group, generated); unsure {
			c.queue.AddAfter(keyOf(Pod, pod), unsurePeriod)
		}
	}
	if !c.features.On(features.WorkloadClaims) {
		owner = owner.WithoutGroupClaims(pod, group)
	}
	return owner, nil
}

// generatedFor returns the claims that were generated for PodGroups with the name of this one. If
// one belongs to an earlier PodGroup, those of this one are read from the API: whether they have
// been reserved for it must be known. The claims of trees that the PodGroup names are included.
func (c *Controller) generatedFor(ctx context.Context, group *scheduling.PodGroup) ([]*resource.ResourceClaim, error) {
	var out []*resource.ResourceClaim
	for _, s := range group.Status.ResourceClaimStatuses {
		if s.ResourceClaimName == nil {
			continue
		}
		claim, ok := c.cache.Claims.Get(group.Namespace, *s.ResourceClaimName)
		if !ok {
			continue
		}
		if _, _, ok := claims.OwnerTree(claim); ok {
			out = append(out, claim)
		}
	}
	cached := c.cache.Claims.ByIndex(claimsByUser, groupNameKey(group.Namespace, group.Name))
	isEarlier := func(claim *resource.ResourceClaim) bool { return !metav1.IsControlledBy(claim, group) }
	if !slices.ContainsFunc(cached, isEarlier) {
		return append(out, cached...), nil
	}
	for _, claim := range cached {
		if !isEarlier(claim) {
			live, err := c.server.Live.LiveClaim(ctx, claim.Namespace, claim.Name)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("look for claim %s: %w", claim.Name, err)
			}
			claim = live
		}
		out = append(out, claim)
	}
	return out, nil
}

// reconcileGroup creates missing claims of the PodGroup and records them.
func (c *Controller) reconcileGroup(ctx context.Context, key Key) error {
	group, ok := c.cache.Groups.Get(key.Namespace, key.Name)
	if !ok || group.DeletionTimestamp != nil || !c.features.On(features.WorkloadClaims) {
		c.waitSince.drop(key)
		return nil
	}
	records, err := c.settle(ctx, key, group, claims.GroupOwner(group, c.trees(key.Namespace)))
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if records == nil {
		return nil
	}
	if err := c.server.Owners.RecordGroupClaims(ctx, group, records); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("%s: record claims: %w", key, err)
	}
	return nil
}

// reconcileTree creates missing claims of the CompositePodGroup and records them.
func (c *Controller) reconcileTree(ctx context.Context, key Key) error {
	if c.cache.Trees == nil {
		return nil
	}
	tree, ok := c.cache.Trees.Get(key.Namespace, key.Name)
	if !ok || tree.DeletionTimestamp != nil ||
		!c.features.On(features.WorkloadClaims) || !c.features.On(features.ReservedForWorkloads) {
		c.waitSince.drop(key)
		return nil
	}
	records, err := c.settle(ctx, key, tree, claims.TreeOwner(tree, c.trees(key.Namespace)))
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if records == nil {
		return nil
	}
	if err := c.server.Owners.RecordTreeClaims(ctx, tree, records); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("%s: record claims: %w", key, err)
	}
	return nil
}

// trees returns the CompositePodGroups of a namespace, or nil if the feature is off.
func (c *Controller) trees(namespace string) claims.Trees {
	if c.cache.Trees == nil {
		return nil
	}
	return func(name string) (*v1alpha3.CompositePodGroup, bool) { return c.cache.Trees.Get(namespace, name) }
}

// settle reads and creates claims until the owner has all it can have now, reports the problems of
// others, and returns the list to record, or nil if it is recorded already. After creating claims,
// the list is left for another pass, which runs when all owners have their claims.
func (c *Controller) settle(
	ctx context.Context, key Key, obj runtime.Object, owner claims.Owner,
) ([]corev1.PodResourceClaimStatus, error) {
	facts, created := c.gather(owner), false
	for range maxRounds {
		want := claims.DesiredClaims(owner, facts)
		if want.Settled() {
			c.waitSince.drop(key)
			c.await(key, owner, want.Problems)
			c.report(obj, owner, texts(want.Problems))
			if created && want.Record != nil {
				c.queue.Add(key)
				return nil, nil
			}
			return want.Record, nil
		}
		if err := c.ask(ctx, key, owner, &facts, want.Ask...); err != nil {
			return nil, err
		}
		if err := c.create(ctx, key, owner, &facts, want.Create); err != nil {
			if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err) {
				return nil, nil // the owner is being deleted
			}
			c.report(obj, owner, append(texts(want.Problems), err.Error()))
			return nil, err
		}
		created = created || len(want.Create) > 0
	}
	return nil, errors.New("names of generated claims are taken, one after the other")
}

// gather returns what caches and memory know about the owner's claims.
func (c *Controller) gather(owner claims.Owner) claims.Facts {
	facts := claims.Facts{
		Templates:          map[claims.Source]claims.Template{},
		NoClusterTemplates: !c.features.On(features.ClusterTemplates),
	}
	for _, claim := range c.pending.list(owner.UID) {
		facts.Found(claim)
	}
	for _, claim := range c.cache.Claims.ByIndex(claimsByUser, string(owner.UID)) {
		facts.Found(claim)
	}
	for _, r := range owner.Records {
		if r.ResourceClaimName == nil {
			continue
		}
		if claim, ok := c.cache.Claims.Get(owner.Namespace, *r.ResourceClaimName); ok {
			facts.Found(claim)
		}
	}
	for _, entry := range owner.Entries {
		if t, ok := c.template(owner.Namespace, entry.Source); ok {
			facts.Templates[entry.Source] = t
		}
	}
	return facts
}

func (c *Controller) template(namespace string, source claims.Source) (claims.Template, bool) {
	switch source.Kind {
	case claims.NamespacedTemplate:
		if t, ok := c.cache.Templates.Get(namespace, source.Name); ok {
			return claims.FromTemplate(t), true
		}
	case claims.ClusterTemplate:
		if t, ok := c.cache.ClusterTemplates.Get("", source.Name); ok {
			return claims.FromClusterTemplate(t), true
		}
	}
	return claims.Template{}, false
}

// ask reads claims from the API.
func (c *Controller) ask(ctx context.Context, key Key, owner claims.Owner, facts *claims.Facts, names ...string) error {
	for _, name := range names {
		claim, err := c.server.Live.LiveClaim(ctx, owner.Namespace, name)
		switch {
		case apierrors.IsNotFound(err):
			facts.Lost(name)
		case err != nil:
			return fmt.Errorf("look for claim %s: %w", name, err)
		default:
			facts.Found(claim)
			if ref := metav1.GetControllerOfNoCopy(claim); ref != nil && ref.UID == owner.UID {
				c.remember(key, owner, claim)
			}
		}
	}
	return nil
}

// create creates claims. If a name is taken, the claim is read: either it was created for this
// entry and the cache is behind, or it belongs to another owner.
func (c *Controller) create(
	ctx context.Context, key Key, owner claims.Owner, facts *claims.Facts, list []*resource.ResourceClaim,
) error {
	for _, claim := range list {
		created, err := c.server.Claims.CreateClaim(ctx, claim)
		switch {
		case apierrors.IsAlreadyExists(err):
			if err := c.ask(ctx, key, owner, facts, claim.Name); err != nil {
				return err
			}
		case err != nil:
			c.meter.Refused(string(key.Kind), hasAdminAccess(claim))
			return fmt.Errorf("create claim %s: %w", claim.Name, err)
		default:
			c.meter.Generated(string(key.Kind), hasAdminAccess(claim), c.waitSince.elapsed(key))
			facts.Found(created)
			c.remember(key, owner, created)
		}
	}
	return nil
}

// remember records a claim until the cache shows it. If the event arrived before the response,
// there is nothing to wait for.
func (c *Controller) remember(key Key, owner claims.Owner, claim *resource.ResourceClaim) {
	c.pending.add(owner.UID, claim)
	if cached, ok := c.cache.Claims.Get(claim.Namespace, claim.Name); ok && cached.UID == claim.UID {
		c.pending.confirm(owner.UID, claim.Name)
		return
	}
	c.queue.AddAfter(key, pendingLife)
}

// await registers the owner for missing templates. A template may have been created since the cache
// was read, so that the owner is reconciled once more after registration.
func (c *Controller) await(key Key, owner claims.Owner, problems []*claims.Problem) {
	for _, entry := range owner.Entries {
		lacks := func(p *claims.Problem) bool { return p.Reason == claims.TemplateMissing && p.Entry == entry.Name }
		if !slices.ContainsFunc(problems, lacks) {
			continue
		}
		template := templateKey{owner.Namespace, entry.Source}
		if entry.Source.Kind == claims.ClusterTemplate {
			template.namespace = ""
		}
		c.waiting.add(template, key)
		if _, ok := c.template(owner.Namespace, entry.Source); ok {
			c.wakeWaiting(template)
		}
	}
}

// report records an event for problems that were not reported before.
func (c *Controller) report(obj runtime.Object, owner claims.Owner, problems []string) {
	text := strings.Join(problems, "; ")
	if c.reported.isNew(owner.UID, text) {
		c.events.Eventf(obj, corev1.EventTypeWarning, reasonFailed, "%s", text)
	}
}

func texts(problems []*claims.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Error())
	}
	return out
}
