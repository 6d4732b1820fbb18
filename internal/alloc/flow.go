package alloc

import "github.com/allot-dev/allot/internal/model"

// flow decides whether what selections need can be served by what cells have, each cell's devices being alike: a
// bipartite flow, found with augmenting paths. It is exact where nothing but selectors restricts the choice, and a
// bound where more does.
type flow struct {
	edges [][]int // by selection: the cells whose devices match it
	need  []int   // by selection
	room  []int   // by cell

	sent [][]int // by selection and cell
	left []int   // room that is left, by cell
	// Of one search for a path:
	fromSelection []int // by cell: the selection it was reached from, or -1
	fromCell      []int // by selection: the cell whose devices it would give up, or -1
	reached       []bool
	queue         []int
}

func newFlow(edges [][]int, need []int, cells int) *flow {
	// All of it is made at once: there is a flow, mostly of a few numbers, for each attempt.
	numbers := make([]int, len(edges)*(cells+1)+3*cells)
	next := func(n int) []int {
		part := numbers[:n:n]
		numbers = numbers[n:]
		return part
	}
	f := &flow{
		edges: edges, need: need, room: next(cells), left: next(cells), fromSelection: next(cells), fromCell: next(len(edges)),
		sent: make([][]int, len(edges)), reached: make([]bool, len(edges)),
	}
	for i := range f.sent {
		f.sent[i] = next(cells)
	}
	return f
}

// solve answers true, or the selections that together need more than all cells that match any of them have.
func (f *flow) solve() (bool, model.Bits) {
	copy(f.left, f.room)
	for i := range f.sent {
		clear(f.sent[i])
	}
	for selection, need := range f.need {
		for need > 0 {
			amount := f.augment(selection, need)
			if amount == 0 {
				return false, f.violator()
			}
			need -= amount
		}
	}
	return true, nil
}

func (f *flow) violator() model.Bits {
	set := model.NewBits(len(f.reached))
	for selection, in := range f.reached {
		if in {
			set.Set(selection)
		}
	}
	return set
}

// augment sends up to want more for the selection, over cells that others may have to leave for further ones.
func (f *flow) augment(selection, want int) int {
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
			if f.left[cell] > 0 {
				return f.push(cell, min(want, f.left[cell]))
			}
			f.displace(cell)
		}
	}
	return 0
}

// displace looks for selections that could leave the full cell.
func (f *flow) displace(cell int) {
	for other := range f.sent {
		if f.sent[other][cell] > 0 && !f.reached[other] {
			f.reached[other], f.fromCell[other] = true, cell
			f.queue = append(f.queue, other)
		}
	}
}

// push walks the path back from a cell with room left.
func (f *flow) push(end, amount int) int {
	for cell := end; ; {
		selection := f.fromSelection[cell]
		cell = f.fromCell[selection]
		if cell < 0 {
			break
		}
		amount = min(amount, f.sent[selection][cell])
	}
	f.left[end] -= amount
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
