package placement

import (
	"slices"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// usableNodes returns the pinned nodes from which the class can use its volumes and the allocated
// devices of its claims.
func (c *podClass) usableNodes() []*model.NodeInfo {
	selectors, skips := c.volumes, false
	for _, key := range c.claims {
		claim, _ := c.scope.state.Claims.Get(key)
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
	info, ok := c.scope.state.Nodes.Get(name)
	switch {
	case !ok || c.isExcluded(info):
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
		claim, _ := c.scope.state.Claims.Get(key)
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
