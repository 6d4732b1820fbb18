package model

// Tx is a trial: changes of the State that can be taken back. One is open at a time; marks nest within it.
type Tx struct {
	state *State
}

// Begin opens a trial. A second one while the first is open is a programming error.
func (s *State) Begin() *Tx {
	if s.inTx {
		panic("model: a trial is open already")
	}
	s.inTx = true
	return &Tx{state: s}
}

// Mark is a point that UndoTo goes back to.
func (t *Tx) Mark() int { return len(t.state.undo) }

// UndoTo takes back what was done since the mark, and leaves the trial open.
func (t *Tx) UndoTo(mark int) {
	s := t.state
	s.inTx = false // what takes back is not itself to be taken back
	for len(s.undo) > mark {
		last := s.undo[len(s.undo)-1]
		s.undo = s.undo[:len(s.undo)-1]
		last()
	}
	s.inTx = true
}

// Undo takes everything back and closes the trial.
func (t *Tx) Undo() {
	t.UndoTo(0)
	t.state.inTx = false
}

// Keep closes the trial and leaves its changes.
func (t *Tx) Keep() {
	clear(t.state.undo)
	t.state.undo = t.state.undo[:0]
	t.state.inTx = false
}
