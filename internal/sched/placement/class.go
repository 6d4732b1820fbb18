package placement

import (
	"slices"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/score"
)

// podClass is a set of members that are interchangeable: the same nodes are suitable for them, and
// they request the same devices.
type podClass struct {
	scope   *scope
	fitter  *nodefit.Fitter
	scorer  *score.Shape
	members []*podCandidate
	// claims that all members use and that are not their own. Each has an allocation, or gets one
	// before members are placed.
	claims      []model.Key
	plain       claimForm                             // form in which members request devices
	extended    *extendedForms                        // if that depends on the node; nil if it does not
	volumes     []*nodeaffinity.LazyErrorNodeSelector // selectors of the volumes that all members use
	mounts      nodefit.Mounts
	restriction []*model.NodeInfo // restricts the class to these nodes; nil means all
	pins        []topologyPin     // domains to which the class is currently restricted
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
func (c *podClass) suitableNodes() *nodefit.NodeSet { return c.scope.fits.Suitable(c.fitter) }

// pinnedNodes returns the nodes that pass the static checks, in the domains to which the class is
// restricted.
func (c *podClass) pinnedNodes() []*model.NodeInfo {
	if n := len(c.pins); n > 0 {
		return c.pins[n-1].nodes
	}
	if c.restriction == nil {
		return c.suitableNodes().Nodes
	}
	return c.fitter.Suitable(c.restriction)
}

// isExcluded reports whether the class is restricted to other nodes.
func (c *podClass) isExcluded(info *model.NodeInfo) bool {
	return c.restriction != nil && !slices.Contains(c.restriction, info)
}

// checkDynamic makes the checks that depend on the pods on the nodes.
func (c *podClass) checkDynamic(info *model.NodeInfo) nodefit.Failure {
	state := c.scope.state
	if failure := c.fitter.Dynamic(state, info); failure.Failed() || !c.mounts.Limited(state) {
		return failure
	}
	return c.mounts.CheckLimits(state, info)
}

// isMountable reports whether the volumes of the class can be mounted by one more pod. A volume
// with the access mode ReadWriteOncePod can be mounted by one member only.
func (c *podClass) isMountable() bool { return c.mounts.InUse(c.scope.state) == nil }
