package model

// undoLog records how to undo the changes of a trial. All stores of a State share it.
type undoLog struct {
	changes []func() // inverse of each change since Begin, oldest first
	open    bool     // whether a trial is open
}

// record keeps the inverse of a change while a trial is open.
func (l *undoLog) record(inverse func()) {
	if l.open {
		l.changes = append(l.changes, inverse)
	}
}

// Tx is a trial: changes of the State that can be taken back. One is open at a time; marks nest within it.
type Tx struct {
	log *undoLog
}

// Begin opens a trial. A second one while the first is open is a programming error.
func (s *State) Begin() *Tx {
	if s.log.open {
		panic("model: a trial is open already")
	}
	s.log.open = true
	return &Tx{log: &s.log}
}

// Mark is a point that UndoTo goes back to.
func (t *Tx) Mark() int { return len(t.log.changes) }

// UndoTo takes back what was done since the mark, and leaves the trial open.
func (t *Tx) UndoTo(mark int) {
	l := t.log
	l.open = false // what takes back is not itself to be taken back
	for len(l.changes) > mark {
		last := l.changes[len(l.changes)-1]
		l.changes = l.changes[:len(l.changes)-1]
		last()
	}
	l.open = true
}

// Undo takes everything back and closes the trial.
func (t *Tx) Undo() {
	t.UndoTo(0)
	t.log.open = false
}

// Keep closes the trial and leaves its changes.
func (t *Tx) Keep() {
	clear(t.log.changes)
	t.log.changes = t.log.changes[:0]
	t.log.open = false
}
