package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/features"
)

const (
	// reasonFailed is upstream's reason for the event on a pod or PodGroup that lacks a claim.
	reasonFailed = "FailedResourceClaimCreation"
	// maxRounds bounds the asking and creating for one owner in one pass; an entry needs two
	// rounds, and one more for each of its names that is taken.
	maxRounds = 8
)

// reconcilePod gives the pod the claims that it lacks, records all of them, and reserves
// those that a scheduled pod lacks.
func (c *Controller) reconcilePod(ctx context.Context, key Key) error {
	pod, ok := c.cache.Pods.Get(key.Namespace, key.Name)
	if !ok || pod.DeletionTimestamp != nil || claims.PodDone(pod) {
		c.heard.drop(key)
		return nil
	}
	var group *scheduling.PodGroup
	if name, member := claims.GroupName(pod); member {
		group, _ = c.cache.Groups.Get(pod.Namespace, name)
	}
	owner := claims.PodOwner(pod, group)
	if !c.on.On(features.WorkloadClaims) {
		owner = owner.WithoutGroupClaims(pod, group)
	}
	records, err := c.settle(ctx, key, pod, owner)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if records != nil {
		if err := c.server.Owners.RecordPodClaims(ctx, pod, records); ignoreGone(err) != nil {
			return fmt.Errorf("%s: record claims: %w", key, err)
		}
	}
	if pod.Spec.NodeName == "" {
		return nil
	}
	return c.reserve(ctx, pod, group)
}

// reconcileGroup gives the PodGroup the claims that it lacks, and records them.
func (c *Controller) reconcileGroup(ctx context.Context, key Key) error {
	group, ok := c.cache.Groups.Get(key.Namespace, key.Name)
	if !ok || group.DeletionTimestamp != nil || !c.on.On(features.WorkloadClaims) {
		c.heard.drop(key)
		return nil
	}
	records, err := c.settle(ctx, key, group, claims.GroupOwner(group))
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if records == nil {
		return nil
	}
	if err := c.server.Owners.RecordGroupClaims(ctx, group, records); ignoreGone(err) != nil {
		return fmt.Errorf("%s: record claims: %w", key, err)
	}
	return nil
}

// settle asks and creates until the owner has all claims that it can have now, tells of
// those that it cannot have, and gives the list to record, nil if that is right already. When
// claims were created, the list is for another pass, which waits until those who lack claims have theirs.
func (c *Controller) settle(ctx context.Context, key Key, obj runtime.Object, owner claims.Owner) ([]corev1.PodResourceClaimStatus, error) {
	facts, created := c.gather(owner), false
	for range maxRounds {
		want := claims.Wanted(owner, facts)
		if want.Settled() {
			c.heard.drop(key)
			c.await(key, owner, want.Problems)
			c.tell(obj, owner, texts(want.Problems))
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
				return nil, nil // all of it goes away
			}
			c.tell(obj, owner, append(texts(want.Problems), err.Error()))
			return nil, err
		}
		created = created || len(want.Create) > 0
	}
	return nil, errors.New("names of generated claims are taken, one after the other")
}

// gather collects what the caches and the memory know of the owner's claims.
func (c *Controller) gather(owner claims.Owner) claims.Facts {
	facts := claims.Facts{Templates: map[claims.Source]claims.Template{}, NoClusterTemplates: !c.on.On(features.ClusterTemplates)}
	for _, claim := range c.made.list(owner.UID) {
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

// ask reads claims live.
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

// create creates claims. A name that is taken is looked at: either the claim was made for
// this entry and the cache lags behind, or it is another's.
func (c *Controller) create(ctx context.Context, key Key, owner claims.Owner, facts *claims.Facts, list []*resource.ResourceClaim) error {
	for _, claim := range list {
		created, err := c.server.Claims.CreateClaim(ctx, claim)
		switch {
		case apierrors.IsAlreadyExists(err):
			if err := c.ask(ctx, key, owner, facts, claim.Name); err != nil {
				return err
			}
		case err != nil:
			c.meter.Refused(string(key.Kind))
			return fmt.Errorf("create claim %s: %w", claim.Name, err)
		default:
			c.meter.Generated(string(key.Kind), c.heard.took(key))
			facts.Found(created)
			c.remember(key, owner, created)
		}
	}
	return nil
}

// remember keeps a claim in mind until the cache shows it. The event may have come
// before the answer; then there is nothing to wait for.
func (c *Controller) remember(key Key, owner claims.Owner, claim *resource.ResourceClaim) {
	c.made.add(owner.UID, claim)
	if cached, ok := c.cache.Claims.Get(claim.Namespace, claim.Name); ok && cached.UID == claim.UID {
		c.made.seen(owner.UID, claim.Name)
		return
	}
	c.queue.AddAfter(key, madeLife)
}

// await has the owner woken when a template comes that it lacks. One may have come since
// the cache was read, so whoever has registered looks again.
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

// tell publishes an event about problems that were not told of before.
func (c *Controller) tell(obj runtime.Object, owner claims.Owner, problems []string) {
	text := strings.Join(problems, "; ")
	if c.said.news(owner.UID, text) {
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

// ignoreGone drops the error of a write to an object that does not exist any more.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
