package cluster

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/groups"
	"github.com/allot-dev/allot/internal/model"
)

// change applies one change to the State and returns the topics that it affects.
type change func(*model.State) []model.Topic

// Feed applies changes from the caches to the State.
type Feed struct {
	features      features.Set
	schedulerName string // pods of other schedulers are tracked, never placed

	pods      PodCache
	podGroups Cache[*scheduling.PodGroup]
	claims    Cache[*resource.ResourceClaim]
	templates *templates
	expected  expectations // nil if plans create no claims

	mu      sync.Mutex // guards pending
	pending []change

	wake chan struct{} // has one token while pending is not empty
}

// NewFeed subscribes to all kinds that placement depends on. Call it before the caches start. Pods
// with a scheduler name other than schedulerName use resources, but are not scheduled.
func NewFeed(caches Caches, schedulerName string) (*Feed, error) {
	f := &Feed{
		features:      caches.Features,
		schedulerName: schedulerName,
		pods:          caches.Pods,
		podGroups:     caches.PodGroups,
		claims:        caches.Claims,
		templates:     newTemplates(&caches),
		wake:          make(chan struct{}, 1),
	}
	if caches.ExpectsClaims {
		f.expected = expectations{}
	}
	if err := f.pods.AddIndex(groups.Index, groups.IndexKeys); err != nil {
		return nil, err
	}
	if err := f.pods.AddIndex(claims.PodIndex, claims.PodIndexKeys); err != nil {
		return nil, err
	}
	f.pods.OnChange(func(old, now *core.Pod) { f.add(podChange(f, old, now)) })
	f.podGroups.OnChange(f.groupChanged)
	f.claims.OnChange(func(old, now *resource.ResourceClaim) { f.add(f.claimChange(old, now)) })
	caches.Nodes.OnChange(func(old, now *corev1.Node) { f.add(nodeChange(old, now)) })
	caches.Namespaces.OnChange(func(old, now *corev1.Namespace) { f.add(namespaceChange(old, now)) })
	caches.Classes.OnChange(func(old, now *resourcev1.DeviceClass) { f.add(classChange(old, now)) })
	caches.Slices.OnChange(func(old, now *resourcev1.ResourceSlice) { f.add(f.sliceChange(old, now)) })
	if caches.Composites != nil {
		caches.Composites.OnChange(func(old, now *v1alpha3.CompositePodGroup) { f.add(compositeChange(old, now)) })
	}
	if caches.TaintRules != nil {
		caches.TaintRules.OnChange(func(old, now *resourcev1.DeviceTaintRule) { f.add(taintRuleChange(old, now)) })
	}
	if caches.Budgets != nil {
		caches.Budgets.OnChange(func(old, now *policyv1.PodDisruptionBudget) { f.add(budgetChange(old, now)) })
	}
	if caches.Services != nil {
		caches.Services.OnChange(func(old, now *corev1.Service) { f.add(serviceChange(old, now)) })
	}
	f.followTemplates(&caches)
	f.followVolumes(&caches)
	return f, nil
}

// Enqueue makes Apply call happened in order with the other changes. It may be called from any
// goroutine and never blocks.
func (f *Feed) Enqueue(happened func() []model.Topic) {
	f.add(func(*model.State) []model.Topic { return happened() })
}

// Wake returns a channel with a token when there are changes to apply.
func (f *Feed) Wake() <-chan struct{} { return f.wake }

// Apply applies all changes since the last call to the State, and returns the topics affected. Only
// the owner of the State may call it.
func (f *Feed) Apply(state *model.State) []model.Topic {
	f.mu.Lock()
	pending := f.pending
	f.pending = nil
	f.mu.Unlock()

	var topics []model.Topic
	for _, c := range pending {
		topics = append(topics, c(state)...)
	}
	return topics
}

// Pod returns a pod as last seen in the API.
func (f *Feed) Pod(key model.Key) (*core.Pod, bool) { return f.pods.Get(key.Namespace, key.Name) }

// Claim returns a claim as last seen in the API.
func (f *Feed) Claim(key model.Key) (*resource.ResourceClaim, bool) {
	return f.claims.Get(key.Namespace, key.Name)
}

// Seen converts an API claim for the State.
func (f *Feed) Seen(claim *resource.ResourceClaim) *model.Claim {
	return claims.PlacedClaim(f.features, claim)
}

func (f *Feed) add(c change) {
	f.mu.Lock()
	f.pending = append(f.pending, c)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default: // there is a token already
	}
}

func podChange(f *Feed, old, now *core.Pod) change {
	if now == nil {
		key := model.KeyOf(old)
		return func(s *model.State) []model.Topic {
			f.templates.forget(key)
			topics := s.Pods.Delete(key)
			return append(topics, f.expectNone(s, key)...)
		}
	}
	return func(s *model.State) []model.Topic { return f.putPod(s, now) }
}

// putPod adds a pod with its claims resolved. A pod that cannot be converted, for example because
// of an invalid affinity, which validation rejects, is omitted.
func (f *Feed) putPod(s *model.State, pod *core.Pod) []model.Topic {
	pod = claims.SeenPod(f.features, pod)
	group := f.groupOf(pod)
	topics := f.expect(s, pod, group)
	converted, err := model.PodFrom(pod, f.resolve(pod, group))
	if err != nil {
		klog.ErrorS(err, "Leaving a pod out of scheduling", "pod", klog.KObj(pod))
		return append(topics, s.Pods.Delete(model.KeyOf(pod))...)
	}
	if !f.features.On(features.ExtendedResource) {
		converted.Shape.ExtendedRequests = nil
	}
	if converted.Extended == "" && converted.Node == "" && len(converted.Shape.ExtendedRequests) > 0 {
		converted.Extended = claims.ExtendedName(pod)
	}
	converted.Foreign = pod.Spec.SchedulerName != f.schedulerName
	return append(topics, s.Pods.Put(converted)...)
}

// groupOf returns the PodGroup of the pod, or nil if it does not exist.
func (f *Feed) groupOf(pod *core.Pod) *scheduling.PodGroup {
	name, ok := claims.GroupName(pod)
	if !ok {
		return nil
	}
	group, _ := f.podGroups.Get(pod.Namespace, name)
	return claims.SeenGroup(f.features, group)
}

// resolve returns the claim for each entry of the pod.
func (f *Feed) resolve(pod *core.Pod, group *scheduling.PodGroup) []model.PodClaim {
	resolutions := f.templates.lookUp(model.KeyOf(pod), claims.Resolve(pod, group))
	out := make([]model.PodClaim, 0, len(resolutions))
	for _, r := range resolutions {
		if r.State == claims.Unneeded {
			continue
		}
		claim := model.PodClaim{
			Entry:      r.Entry,
			Claim:      r.Claim,
			Owner:      r.Owner,
			Group:      r.ThroughGroup,
			Containers: podsOfEntry(pod, r.Entry),
		}
		if r.Problem != nil {
			claim.Problem = r.Problem.Error()
		}
		out = append(out, claim)
	}
	return out
}

// podsOfEntry returns the containers that use the entry, one for each reference.
func podsOfEntry(pod *core.Pod, entry string) []string {
	var names []string
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for _, claim := range containers[i].Resources.Claims {
				if claim.Name == entry {
					names = append(names, containers[i].Name)
				}
			}
		}
	}
	return names
}

// groupChanged updates the group, and its pods if the claims of its pods may have changed.
func (f *Feed) groupChanged(old, now *scheduling.PodGroup) {
	subject := now
	if now == nil {
		subject = old
	}
	key := model.KeyOf(subject)
	f.add(func(s *model.State) []model.Topic {
		if now == nil {
			return s.Groups.Delete(key)
		}
		return s.Groups.Put(f.seenGroup(now))
	})
	if sameClaims(old, now) {
		return
	}
	f.add(func(s *model.State) []model.Topic {
		var topics []model.Topic
		for _, pod := range f.pods.ByIndex(groups.Index, key.String()) {
			topics = append(topics, f.putPod(s, pod)...)
		}
		return topics
	})
}

// seenGroup converts a PodGroup. One with a parent is not placed without it.
func (f *Feed) seenGroup(group *scheduling.PodGroup) *model.Group {
	seen := model.GroupFrom(claims.SeenGroup(f.features, group))
	if seen.Parent != "" && !f.features.On(features.CompositePodGroup) {
		seen.Parent = ""
		seen.Unknown = "spec.parentCompositePodGroupName (the feature CompositePodGroup is off)"
	}
	return seen
}

func compositeChange(old, now *v1alpha3.CompositePodGroup) change {
	if now == nil {
		key := model.KeyOf(old)
		return func(s *model.State) []model.Topic { return s.Groups.Composites.Delete(key) }
	}
	converted := model.CompositeFrom(now)
	return func(s *model.State) []model.Topic { return s.Groups.Composites.Put(converted) }
}

func (f *Feed) claimChange(old, now *resource.ResourceClaim) change {
	if now == nil {
		key := model.KeyOf(old)
		return func(s *model.State) []model.Topic { return s.Claims.Delete(key) }
	}
	converted := f.Seen(now)
	return func(s *model.State) []model.Topic { return s.Claims.Put(converted) }
}

func nodeChange(old, now *corev1.Node) change {
	if now == nil {
		name := old.Name
		return func(s *model.State) []model.Topic { return s.Nodes.Delete(name) }
	}
	converted := model.NodeFrom(now)
	return func(s *model.State) []model.Topic { return s.Nodes.Put(converted) }
}

func namespaceChange(old, now *corev1.Namespace) change {
	if now == nil {
		name := old.Name
		return func(s *model.State) []model.Topic { return s.Namespaces.Put(name, nil) }
	}
	labels := now.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	return func(s *model.State) []model.Topic { return s.Namespaces.Put(now.Name, labels) }
}

func classChange(old, now *resourcev1.DeviceClass) change {
	if now == nil {
		name := old.Name
		return func(s *model.State) []model.Topic { return s.Classes.Delete(name) }
	}
	converted := model.ClassFrom(now)
	return func(s *model.State) []model.Topic { return s.Classes.Put(converted) }
}

func (f *Feed) sliceChange(old, now *resourcev1.ResourceSlice) change {
	if now == nil {
		name := old.Name
		return func(s *model.State) []model.Topic { return s.Devices.DeleteSlice(name) }
	}
	converted := claims.PlacedSlice(f.features, now)
	return func(s *model.State) []model.Topic { return s.Devices.PutSlice(converted) }
}

func serviceChange(old, now *corev1.Service) change {
	if now == nil {
		key := model.KeyOf(old)
		return func(s *model.State) []model.Topic { return s.Services.Delete(key) }
	}
	converted := model.ServiceFrom(now)
	return func(s *model.State) []model.Topic { return s.Services.Put(converted) }
}

func taintRuleChange(old, now *resourcev1.DeviceTaintRule) change {
	if now == nil {
		name := old.Name
		return func(s *model.State) []model.Topic { return s.TaintRules.Delete(name) }
	}
	converted := model.TaintRuleFrom(now)
	return func(s *model.State) []model.Topic { return s.TaintRules.Put(converted) }
}

// PodsNaming returns the cached pods that name the claim in their spec or status.
func (f *Feed) PodsNaming(claim model.Key) []*core.Pod {
	return f.pods.ByIndex(claims.PodIndex, claims.PodIndexKey(claim.Namespace, claim.Name))
}

// NamedByOthers reports whether a pod that another scheduler may be about to bind names the claim.
func (f *Feed) NamedByOthers(claim model.Key) bool {
	return slices.ContainsFunc(f.PodsNaming(claim), func(pod *core.Pod) bool {
		return pod.Spec.SchedulerName != f.schedulerName && pod.Spec.NodeName == "" && !claims.PodDone(pod)
	})
}
