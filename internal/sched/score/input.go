package score

import (
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// Shape has what pods of one shape prefer. What it has counted in the State is remembered until
// that changes.
type Shape struct {
	*nodefit.Fitter
	nodeAffinity *nodeaffinity.PreferredSchedulingTerms // nil: no preference
	softSpread   nodefit.SpreadCounts                   // counts of the constraints that are preferences
}

// NewShape returns the preferences of the fitter's shape.
func NewShape(fitter *nodefit.Fitter) *Shape {
	s := &Shape{Fitter: fitter, softSpread: nodefit.NewSpreadCounts(fitter.Shape.Terms.SoftSpread)}
	if affinity := fitter.Shape.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		if terms := affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution; len(terms) > 0 {
			// A preference that cannot be parsed is none.
			s.nodeAffinity, _ = nodeaffinity.NewPreferredSchedulingTerms(terms)
		}
	}
	return s
}

// Reorders reports whether a pod that is placed changes which nodes are best for the next one of
// the shape.
func (s *Shape) Reorders() bool { return s.Repels() || len(s.Fitter.Shape.Terms.Preferred) > 0 }

// Repels reports whether the next pod of the shape may prefer other nodes than the one before it.
func (s *Shape) Repels() bool {
	terms := &s.Fitter.Shape.Terms
	if len(terms.Spread)+len(terms.SoftSpread) > 0 {
		return true
	}
	for i := range terms.Preferred {
		if terms.Preferred[i].Weight < 0 {
			return true
		}
	}
	return false
}

// Input has what the preferences of a pod class depend on, before nodes are examined.
type Input struct {
	State *model.State
	Shape *Shape
	Packs bool // the pods are put together, not apart
	// Devices reports whether the pods request devices of their own, and CountKey is equal for pods
	// for which the count of a node's free devices is; see alloc.Problem.
	Devices  bool
	CountKey string
	// Siblings are the pods of the same set, by node; nil if they do not matter.
	Siblings map[*model.NodeInfo]int

	images  *images
	perNode []func(*Input, *model.NodeInfo) float64
	taints  bool // some candidates have taints
}

// Examiner examines nodes for a pod class.
type Examiner interface {
	// Examine reports whether the node can take a pod, which of its free devices the pod could use,
	// and how early the alternatives are that the pod's requests get there. It is called for each
	// node.
	Examine(info *model.NodeInfo) (devices int, alternatives int64, result Result)
	// IsCounted reports whether the free devices of the node can be counted.
	IsCounted(info *model.NodeInfo) bool
}

// Result is the result of examining a node.
type Result int

// The pod fits, does not fit, or fits on no node at all because of a device of this one.
const (
	Fits Result = iota
	Excluded
	Failed
)
