package picture

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/snapshot"
)

// Painter makes Pictures of one World as it changes.
type Painter struct {
	world   *snapshot.World
	classes *alloc.Allocator // knows which devices match a class
	cluster Cluster
}

// NewPainter returns a Painter of a World that follows a server. rackLabel is the node label that
// names racks; "" for the one of the first nodes.
func NewPainter(world *snapshot.World, server snapshot.Server, rackLabel string) *Painter {
	return &Painter{
		world: world, classes: alloc.New(),
		cluster: Cluster{Version: server.Version, Allot: server.Allot, RackLabel: rackLabel},
	}
}

// Paint returns a Picture of the World as it is at a time. before is the Picture before, or an empty
// one. unknown is what could not be read.
func (p *Painter) Paint(before *Picture, taken metav1.Time, unknown []snapshot.Unknown) *Picture {
	if p.cluster.RackLabel == "" {
		p.cluster.RackLabel = rackLabel(p.world)
	}
	now := &Picture{Taken: taken, Cluster: p.cluster}
	for i := range unknown {
		now.Unknown = append(now.Unknown, unknown[i].String())
	}
	units, users := p.units()
	now.Units = shared(before.Units, units)
	c := canvas{
		Painter: p, kinds: newKindTable(before.Kinds), nodes: map[string]*Node{}, pools: map[string]*Pool{},
		unused: map[model.Key]bool{},
	}
	now.Claims = shared(before.Claims, c.claims(users))
	c.paint()
	now.Kinds = c.kinds.kinds
	now.Nodes = shared(before.Nodes, sorted(c.nodes))
	now.Pools = shared(before.Pools, sorted(c.pools))
	now.Timeline = before.Timeline.next(before, now)
	return now
}

// sorted returns the entries sorted by key.
func sorted[T entry[T]](entries map[string]T) []T {
	list := make([]T, 0, len(entries))
	for _, e := range entries {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(a.Key(), b.Key()) })
	return list
}

// units returns the units, sorted, and the users of each claim.
func (p *Painter) units() ([]*Unit, map[model.Key]*claimUsers) {
	units := map[string]*Unit{}
	groups := map[model.Key]*Unit{}
	for group := range p.world.PodGroups.All() {
		u := unitOfGroup(group)
		units[u.key], groups[model.KeyOf(group)] = u, u
	}
	users := map[model.Key]*claimUsers{}
	for pod := range p.world.Pods.All() {
		var unit *Unit
		group := p.groupOf(pod)
		if group != nil {
			unit = groups[model.KeyOf(group)]
			unit.add(pod)
		} else {
			unit = unitOfPod(pod)
		}
		used := p.addUsers(users, pod, group, unit.key)
		if group == nil && (used || unit.Pods.Waiting+unit.Pods.Gated > 0) {
			unit.conclude(false)
			units[unit.key] = unit
		}
	}
	for key, unit := range groups {
		group, _ := p.world.PodGroups.Get(key.Namespace, key.Name)
		unit.conclude(group.DeletionTimestamp != nil)
	}
	return sorted(units), users
}

// groupOf returns the PodGroup that the pod names, or nil if it does not exist.
func (p *Painter) groupOf(pod *core.Pod) *scheduling.PodGroup {
	name, ok := claims.GroupName(pod)
	if !ok {
		return nil
	}
	group, ok := p.world.PodGroups.Get(pod.Namespace, name)
	if !ok {
		return nil
	}
	return claims.SeenGroup(p.world.Features, group)
}

// addUsers adds a pod to the users of the claims that it means, and reports whether there are some.
// A pod that has finished uses nothing.
func (p *Painter) addUsers(
	users map[model.Key]*claimUsers, pod *core.Pod, group *scheduling.PodGroup, unit string,
) bool {
	if pod.Finished() {
		return false
	}
	var names []string
	if len(pod.Spec.ResourceClaims) > 0 {
		for _, r := range claims.Resolve(pod, group) {
			names = append(names, r.Claim)
		}
	}
	if status := pod.Status.ExtendedResourceClaimStatus; status != nil {
		names = append(names, status.ResourceClaimName)
	}
	used := false
	for _, name := range names {
		if name == "" {
			continue
		}
		key := model.Key{Namespace: pod.Namespace, Name: name}
		if users[key] == nil {
			users[key] = &claimUsers{}
		}
		users[key].add(unit, pod.Spec.NodeName != "")
		used = true
	}
	return used
}
