package forecast

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/groups"
)

// ownerKind is the kind of an object for which claims are generated. Pods record the claims of their
// groups, and groups those of their trees.
type ownerKind int

const (
	treeOwner ownerKind = iota
	groupOwner
	podOwner
)

// claimOwner names a pod, PodGroup or CompositePodGroup for which claims are generated.
type claimOwner struct {
	kind            ownerKind
	namespace, name string
}

func (o claimOwner) String() string {
	kind := [...]string{"CompositePodGroup", "PodGroup", "Pod"}[o.kind]
	return kind + " " + o.namespace + "/" + o.name
}

func compareOwners(a, b claimOwner) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// generateClaims creates the claims that pods and PodGroups lack.
func (s *simulation) generateClaims() {
	for _, key := range slices.SortedFunc(maps.Keys(s.lacking), compareOwners) {
		if s.generateFor(key) {
			delete(s.lacking, key)
		}
	}
}

// generateFor creates the claims of one owner, and reports whether it lacks none.
func (s *simulation) generateFor(key claimOwner) (done bool) {
	switch key.kind {
	case treeOwner:
		return s.generateForTree(key)
	case groupOwner:
		return s.generateForGroup(key)
	}
	return s.generateForPod(key)
}

// generateForTree creates the claims of a CompositePodGroup.
func (s *simulation) generateForTree(key claimOwner) (done bool) {
	tree, ok := s.world.Composites.Get(key.namespace, key.name)
	on := s.world.Features
	if !ok || !on.On(features.WorkloadClaims) || !on.On(features.ReservedForWorkloads) {
		return true
	}
	change := s.settleClaims(key, claims.TreeOwner(tree, s.trees(key.namespace)))
	if change.Record != nil {
		updated := *tree
		updated.Status.ResourceClaimStatuses = groupRecords(change.Record)
		s.world.Composites.Put(&updated)
	}
	return change.Settled() && len(change.Problems) == 0
}

// trees returns the CompositePodGroups of a namespace, or nil if the feature is off.
func (s *simulation) trees(namespace string) claims.Trees {
	if !s.world.Features.On(features.CompositePodGroup) {
		return nil
	}
	return func(name string) (*v1alpha3.CompositePodGroup, bool) { return s.world.Composites.Get(namespace, name) }
}

// generateForGroup creates the claims of a PodGroup. It lacks none when it names those of its tree,
// which are created first.
func (s *simulation) generateForGroup(key claimOwner) (done bool) {
	group, ok := s.world.PodGroups.Get(key.namespace, key.name)
	if !ok || !s.world.Features.On(features.WorkloadClaims) {
		return true
	}
	change := s.settleClaims(key, claims.GroupOwner(group, s.trees(key.namespace)))
	if change.Record != nil {
		updated := *group
		updated.Status.ResourceClaimStatuses = groupRecords(change.Record)
		s.world.PodGroups.Put(&updated)
	}
	return change.Settled() && len(change.Problems) == 0
}

// generateForPod creates the claims of a pod.
func (s *simulation) generateForPod(key claimOwner) (done bool) {
	pod, ok := s.world.Pods.Get(key.namespace, key.name)
	if !ok {
		return true
	}
	var group *scheduling.PodGroup
	if name, member := claims.GroupName(pod); member {
		group, _ = s.world.PodGroups.Get(pod.Namespace, name)
	}
	owner := claims.PodOwner(pod, group)
	if !s.world.Features.On(features.WorkloadClaims) {
		owner = owner.WithoutGroupClaims(pod, group)
	}
	change := s.settleClaims(key, owner)
	if change.Record != nil {
		updated := *pod
		updated.Status.ResourceClaimStatuses = change.Record
		s.world.Pods.Put(&updated)
	}
	return change.Settled() && len(change.Problems) == 0 && !claims.LacksRecord(pod)
}

func groupRecords(records []corev1.PodResourceClaimStatus) []schedulingv1beta1.PodGroupResourceClaimStatus {
	out := make([]schedulingv1beta1.PodGroupResourceClaimStatus, len(records))
	for i, r := range records {
		out[i] = schedulingv1beta1.PodGroupResourceClaimStatus{Name: r.Name, ResourceClaimName: r.ResourceClaimName}
	}
	return out
}

// settleClaims creates the claims of an owner. What the server refuses remains to be created.
func (s *simulation) settleClaims(key claimOwner, owner claims.Owner) claims.OwnerChange {
	facts := s.facts(owner)
	for {
		change := claims.DesiredClaims(owner, facts)
		for _, name := range change.Ask {
			facts.Lost(name)
		}
		for _, claim := range change.Create {
			if err := s.create(claim); err != nil {
				s.problem(key.String(), "its ResourceClaims are not created", err)
				return change
			}
			facts.Found(claim)
		}
		if change.Settled() {
			return change
		}
	}
}

// facts returns what decides about the claims of an owner.
func (s *simulation) facts(owner claims.Owner) claims.Facts {
	facts := claims.Facts{
		Templates:          map[claims.Source]claims.Template{},
		NoClusterTemplates: !s.world.Features.On(features.ClusterTemplates),
	}
	for _, claim := range s.world.Claims.ByIndex(byUser, string(owner.UID)) {
		facts.Found(claim)
	}
	for _, r := range owner.Records {
		if r.ResourceClaimName == nil {
			continue
		}
		if claim, ok := s.world.Claims.Get(owner.Namespace, *r.ResourceClaimName); ok {
			facts.Found(claim)
		}
	}
	for _, entry := range owner.Entries {
		switch entry.Source.Kind {
		case claims.NamespacedTemplate:
			if t, ok := s.world.Templates.Get(owner.Namespace, entry.Source.Name); ok {
				facts.Templates[entry.Source] = claims.FromTemplate(t)
			}
		case claims.ClusterTemplate:
			if t, ok := s.world.ClusterTemplates.Get("", entry.Source.Name); ok {
				facts.Templates[entry.Source] = claims.FromClusterTemplate(t)
			}
		}
	}
	return facts
}

// releaseClaims frees the claims that a pod does not use any more.
func (s *simulation) releaseClaims(pod *core.Pod) {
	for _, name := range claims.Uses(pod) {
		if claim, ok := s.world.Claims.Get(pod.Namespace, name); ok {
			s.release(claim)
		}
	}
}

// release removes the deleted or finished consumers of a claim, and deallocates it after the last one.
func (s *simulation) release(claim *resource.ResourceClaim) {
	known := claims.Known{
		Pods: map[string]*core.Pod{}, Groups: map[string]*scheduling.PodGroup{}, Gone: map[types.UID]bool{},
		Live:  map[types.UID]bool{},
		Users: s.users(claim), Current: true, GroupsStay: !s.world.Features.On(features.WorkloadClaims),
	}
	if name, uid, ok := claims.OwnerPod(claim); ok {
		s.addKnown(&known, claim.Namespace, name, uid)
	}
	for _, ref := range claim.Status.ReservedFor {
		switch {
		case claims.IsPodConsumer(ref):
			s.addKnown(&known, claim.Namespace, ref.Name, ref.UID)
		case claims.IsGroupConsumer(ref):
			group, ok := s.world.PodGroups.Get(claim.Namespace, ref.Name)
			if ok {
				known.Groups[ref.Name] = group
			}
			known.Gone[ref.UID] = !ok || group.UID != ref.UID
		case claims.IsTreeConsumer(ref):
			tree, ok := s.world.Composites.Get(claim.Namespace, ref.Name)
			known.Gone[ref.UID] = !ok || tree.UID != ref.UID
		}
	}
	decision := claims.Release(claims.SeenClaim(s.world.Features, claim), known)
	if !decision.StatusChanges() {
		return
	}
	s.setConsumers(claim, decision.Reserved, decision.Deallocate)
}

// addKnown adds what is known of a pod.
func (s *simulation) addKnown(known *claims.Known, namespace, name string, uid types.UID) {
	pod, ok := s.world.Pods.Get(namespace, name)
	if ok {
		known.Pods[name] = pod
	}
	known.Gone[uid] = !ok || pod.UID != uid
}

// users returns the pods that may use a claim.
func (s *simulation) users(claim *resource.ResourceClaim) []*core.Pod {
	users := slices.Clone(s.world.Pods.ByIndex(claims.PodIndex, claims.PodIndexKey(claim.Namespace, claim.Name)))
	add := func(group string) {
		for _, pod := range s.world.Pods.ByIndex(groups.Index, groups.IndexKey(claim.Namespace, group)) {
			if !slices.Contains(users, pod) && claims.MayUse(pod, claim) {
				users = append(users, pod)
			}
		}
	}
	if name, _, ok := claims.OwnerGroup(claim); ok {
		add(name)
	}
	for _, ref := range claim.Status.ReservedFor {
		if claims.IsGroupConsumer(ref) {
			add(ref.Name)
		}
	}
	return users
}

// setConsumers replaces the consumers of a claim, and takes its devices if it has none.
func (s *simulation) setConsumers(
	claim *resource.ResourceClaim, consumers []resourcev1.ResourceClaimConsumerReference, deallocate bool,
) {
	updated := *claim
	updated.Status.ReservedFor = consumers
	if deallocate {
		updated.Status.Allocation, updated.Status.Devices = nil, nil
	}
	s.world.Claims.Put(&updated)
}

// problem records why something is not created.
func (s *simulation) problem(object, what string, err error) {
	s.problems[object] = Problem{Object: object, Reason: fmt.Sprintf("%s: %v", what, err)}
}
