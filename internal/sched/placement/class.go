package placement

import (
	"slices"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/score"
)

// podClass is a set of members that are interchangeable: the same nodes are suitable for them, and
// they request the same devices.
type podClass struct {
	given   *given
	fitter  *nodefit.Fitter
	scorer  *score.Shape
	members []*podCandidate
	// claims that all members use and that are not their own. Each has an allocation, or gets one
	// before members are placed.
	claims   []model.Key
	plain    claimForm                             // what members request devices for
	extended *extendedForms                        // if that depends on the node; nil if it does not
	volumes  []*nodeaffinity.LazyErrorNodeSelector // of the volumes that all members use
	mounts   nodefit.Mounts
	pins     []topologyPin // domains to which the class is currently restricted
}

// topologyPin restricts a class to the nodes with one value of a label.
type topologyPin struct {
	key, value string
	nodes      []*model.NodeInfo // those that are suitable for the class
}

// violatedPin returns a pin that the node does not match, or nil.
func (c *podClass) violatedPin(info *model.NodeInfo) *topologyPin {
	for i := range c.pins {
		if value, ok := info.Node.Labels[c.pins[i].key]; !ok || value != c.pins[i].value {
			return &c.pins[i]
		}
	}
	return nil
}

// suitableNodes returns the nodes that pass the static checks for the class.
func (c *podClass) suitableNodes() *nodefit.NodeSet { return c.given.fits.Suitable(c.fitter) }

// pinnedNodes returns the nodes that pass the static checks, in the domains to which the class is
// restricted.
func (c *podClass) pinnedNodes() []*model.NodeInfo {
	if n := len(c.pins); n > 0 {
		return c.pins[n-1].nodes
	}
	if c.given.only == nil {
		return c.suitableNodes().Nodes
	}
	return c.fitter.Suitable(c.given.only)
}

// usableNodes returns the pinned nodes from which the class can use its volumes and the allocated
// devices of its claims.
func (c *podClass) usableNodes() []*model.NodeInfo {
	selectors, skips := c.volumes, false
	for _, key := range c.claims {
		claim, _ := c.given.state.Claims.Get(key)
		skips = skips || claim.Allocation.SkipsOperations()
		if claim.Allocation == nil || claim.Allocation.NodeSelector == nil {
			continue
		}
		if name, ok := nodefit.TiedNode(claim.Allocation.NodeSelector); ok {
			return c.tiedNode(name)
		}
		selectors = append(slices.Clip(selectors), nodeaffinity.NewLazyErrorNodeSelector(claim.Allocation.NodeSelector))
	}
	nodes := c.pinnedNodes()
	if len(selectors) == 0 && c.extended == nil && !skips {
		return nodes
	}
	var usable []*model.NodeInfo
	for _, info := range nodes {
		if nodefit.AllMatch(selectors, info) && !c.form(info).unfit && (!skips || info.Node.SkipsOperations) {
			usable = append(usable, info)
		}
	}
	return usable
}

// tiedNode returns the only node that a claim allows, if the class can use it.
func (c *podClass) tiedNode(name string) []*model.NodeInfo {
	info, ok := c.given.state.Nodes.Get(name)
	switch {
	case !ok || c.given.only != nil && !slices.Contains(c.given.only, info):
		return nil
	case c.violatedPin(info) != nil || c.fitter.Static(info).Failed() || !nodefit.AllMatch(c.volumes, info):
		return nil
	}
	if _, misses := c.unusableClaim(info); misses {
		return nil
	}
	return []*model.NodeInfo{info}
}

// unusableClaim returns a claim of the class that cannot be used from the node, or that is not the
// claim that the node requires.
func (c *podClass) unusableClaim(info *model.NodeInfo) (model.Key, bool) {
	for _, key := range c.claims {
		claim, _ := c.given.state.Claims.Get(key)
		if claim.Allocation.SkipsOperations() && !info.Node.SkipsOperations {
			return key, true
		}
		if claim.Allocation == nil || claim.Allocation.NodeSelector == nil {
			continue
		}
		matches, err := nodeaffinity.NewLazyErrorNodeSelector(claim.Allocation.NodeSelector).Match(info.API())
		if err != nil || !matches {
			return key, true
		}
	}
	if c.form(info).unfit {
		return c.members[0].extendedKey(), true
	}
	return model.Key{}, false
}

// checkDynamic makes the checks that depend on the pods on the nodes.
func (c *podClass) checkDynamic(info *model.NodeInfo) nodefit.Failure {
	state := c.given.state
	if failure := c.fitter.Dynamic(state, info); failure.Failed() || !c.mounts.Limited(state) {
		return failure
	}
	return c.mounts.CheckLimits(state, info)
}

// isMountable reports whether the volumes of the class can be mounted by one more pod. A volume with
// the access mode ReadWriteOncePod can be mounted by one member only.
func (c *podClass) isMountable() bool { return c.mounts.InUse(c.given.state) == nil }

// needsDevices reports whether members need devices of their own, at least on some nodes.
func (c *podClass) needsDevices() bool { return c.plain.problem != nil || c.extended != nil }

// minDevices returns the smallest number of devices that a member takes.
func (c *podClass) minDevices() int {
	least := -1
	for _, f := range c.forms() {
		if f.problem == nil {
			if f.reason == nil {
				return 0
			}
			continue
		}
		if n := f.problem.MinDevices(); least < 0 || n < least {
			least = n
		}
	}
	return max(0, least)
}

// offer returns the devices that the node offers for the member, or nil without a reason if the
// member needs none.
func (c *podClass) offer(m *podCandidate, info *model.NodeInfo) (*alloc.NodeOffer, *alloc.Reason) {
	f := c.form(info)
	if f.reason != nil || f.problem == nil {
		return nil, f.reason
	}
	return f.problem.WithClaims(m.claims(f)).NodeOffer(info)
}
