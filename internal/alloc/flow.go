package alloc

import "github.com/allot-dev/allot/internal/model"

// flow decides whether cells have enough devices for selections, where the devices of a cell are
// interchangeable. It is a bipartite maximum flow, computed with augmenting paths. The answer is
// exact if only selectors restrict the choice, and a bound otherwise.
type flow struct {
	edges    [][]int // by selection: the cells with matching devices
	need     []int   // by selection
	capacity []int   // by cell

	sent      [][]int // by selection and cell
	remaining []int   // remaining capacity, by cell
	// State of one path search:
	fromSelection []int // by cell: selection from which the cell was reached, or -1
	fromCell      []int // by selection: cell that the selection would give up, or -1
	reached       []bool
	queue         []int
}

func newFlow(edges [][]int, need []int, cells int) *flow {
	// One allocation for all slices: each attempt builds a flow, and most are small.
	numbers := make([]int, len(edges)*(cells+1)+3*cells)
	next := func(n int) []int {
		part := numbers[:n:n]
		numbers = numbers[n:]
		return part
	}
	f := &flow{
		edges: edges, need: need, capacity: next(cells), remaining: next(cells), fromSelection: next(cells),
		fromCell: next(len(edges)),
		sent:     make([][]int, len(edges)), reached: make([]bool, len(edges)),
	}
	for i := range f.sent {
		f.sent[i] = next(cells)
	}
	return f
}

// solve reports whether all needs are met. If not, it returns selections that together need more
// than their cells have.
func (f *flow) solve() (bool, model.Bits) {
	copy(f.remaining, f.capacity)
	for i := range f.sent {
		clear(f.sent[i])
	}
	for selection, need := range f.need {
		for need > 0 {
			amount := f.augment(selection, need)
			if amount == 0 {
				return false, f.violatingSelections()
			}
			need -= amount
		}
	}
	return true, nil
}

func (f *flow) violatingSelections() model.Bits {
	set := model.NewBits(len(f.reached))
	for selection, in := range f.reached {
		if in {
			set.Set(selection)
		}
	}
	return set
}

// augment sends up to wanted units for the selection, rerouting the flow of other selections if
// necessary, and returns the amount sent.
func (f *flow) augment(selection, wanted int) int {
	for i := range f.fromSelection {
		f.fromSelection[i] = -1
	}
	clear(f.reached)
	f.reached[selection], f.fromCell[selection] = true, -1
	f.queue = append(f.queue[:0], selection)
	for len(f.queue) > 0 {
		at := f.queue[0]
		f.queue = f.queue[1:]
		for _, cell := range f.edges[at] {
			if f.fromSelection[cell] >= 0 {
				continue
			}
			f.fromSelection[cell] = at
			if f.remaining[cell] > 0 {
				return f.push(cell, min(wanted, f.remaining[cell]))
			}
			f.displace(cell)
		}
	}
	return 0
}

// displace adds the selections that could leave the full cell to the queue.
func (f *flow) displace(cell int) {
	for other := range f.sent {
		if f.sent[other][cell] > 0 && !f.reached[other] {
			f.reached[other], f.fromCell[other] = true, cell
			f.queue = append(f.queue, other)
		}
	}
}

// push sends flow along the path that ends at a cell with remaining capacity.
func (f *flow) push(end, amount int) int {
	for cell := end; ; {
		selection := f.fromSelection[cell]
		cell = f.fromCell[selection]
		if cell < 0 {
			break
		}
		amount = min(amount, f.sent[selection][cell])
	}
	f.remaining[end] -= amount
	for cell := end; ; {
		selection := f.fromSelection[cell]
		f.sent[selection][cell] += amount
		cell = f.fromCell[selection]
		if cell < 0 {
			return amount
		}
		f.sent[selection][cell] -= amount
	}
}
