package picture

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Difference is the set of changes from one Picture to another.
type Difference struct {
	Taken   metav1.Time `json:"taken"`
	Cluster Cluster     `json:"cluster"`
	Unknown []string    `json:"unknown,omitempty"`
	// Kinds are to be appended.
	Kinds  []Kind           `json:"kinds,omitempty"`
	Nodes  *Changes[*Node]  `json:"nodes,omitempty"`
	Pools  *Changes[*Pool]  `json:"pools,omitempty"`
	Units  *Changes[*Unit]  `json:"units,omitempty"`
	Claims *Changes[*Claim] `json:"claims,omitempty"`
	// Samples are to be appended; the first replaces one of the same time.
	Samples []Sample `json:"samples,omitempty"`
	// Moments are to be appended.
	Moments []Moment `json:"moments,omitempty"`
}

// Changes are the entries of a list that are new or changed, and the keys of those that were deleted.
type Changes[T any] struct {
	Put     []T      `json:"put,omitempty"`
	Deleted []string `json:"deleted,omitempty"`
}

// Since returns the difference from an earlier Picture of the same Painter, or from an empty one.
func (p *Picture) Since(before *Picture) *Difference {
	return &Difference{
		Taken: p.Taken, Cluster: p.Cluster, Unknown: p.Unknown, Kinds: p.Kinds[len(before.Kinds):],
		Nodes: changes(before.Nodes, p.Nodes), Pools: changes(before.Pools, p.Pools),
		Units: changes(before.Units, p.Units), Claims: changes(before.Claims, p.Claims),
		Samples: p.Timeline.samplesSince(&before.Timeline), Moments: p.Timeline.momentsSince(&before.Timeline),
	}
}

// changes returns the changes between two lists whose equal entries are shared, or nil if there are
// none.
func changes[T entry[T]](before, now []T) *Changes[T] {
	if slices.Equal(before, now) {
		return nil
	}
	c := &Changes[T]{}
	merge(before, now, func(old, entry T) {
		switch {
		case entry == nil:
			c.Deleted = append(c.Deleted, old.Key())
		case entry != old:
			c.Put = append(c.Put, entry)
		}
	})
	return c
}
