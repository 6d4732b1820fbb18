package placement

import "github.com/allot-dev/allot/internal/model"

// Counter counts how often the pods of a unit fit on some nodes. It is an upper bound: each class of
// pods is counted by itself.
type Counter struct {
	classes []*podClass
	sizes   []int // pods of each class
}

// NewCounter returns a Counter for all pods of a unit, as the State is within the transaction. A pod
// represents as many pods as copies returns for it, itself included.
func NewCounter(
	caches *Caches,
	tx *model.Tx,
	unit *model.Unit,
	options Options,
	copies func(*model.Pod) int,
) *Counter {
	p := New(caches, tx, unit, options)
	gatherer := &gatherer{input: &p.input, reasons: p.reasons, samples: true}
	gatherer.gather()
	gatherer.prepare(p.trial.isAllocatedHere)
	c := &Counter{classes: p.input.classes}
	for _, class := range c.classes {
		size := 0
		for _, m := range class.members {
			size += copies(m.pod)
		}
		c.sizes = append(c.sizes, size)
	}
	return c
}

// Count returns how many units like this one the nodes hold at most, and how many pods like its own.
func (c *Counter) Count(nodes []*model.NodeInfo) (units, pods int) {
	if len(c.classes) == 0 {
		return 1, 0 // no pod can be tried, and trying says why
	}
	for i, class := range c.classes {
		fits, _ := class.capacity(class.fitter.Suitable(nodes), false, func(*model.NodeInfo) {})
		pods += fits
		if n := fits / c.sizes[i]; i == 0 || n < units {
			units = n
		}
	}
	return units, pods
}
