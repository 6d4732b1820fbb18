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

// replace sets an entry of a store, or removes it if value is nil, and records how to undo that.
func replace[K comparable, V any](log *undoLog, entries map[K]*V, key K, value *V) {
	old := entries[key]
	log.record(func() { replace(log, entries, key, old) })
	if value == nil {
		delete(entries, key)
	} else {
		entries[key] = value
	}
}

// Tx is a trial: a sequence of changes of the State that can be undone. Only one is open at a time;
// marks can be nested.
type Tx struct {
	log *undoLog
}

// Begin opens a trial. It panics if one is open.
func (s *State) Begin() *Tx {
	if s.log.open {
		panic("model: a trial is open already")
	}
	s.log.open = true
	return &Tx{log: &s.log}
}

// Mark returns a point that UndoTo can return to.
func (t *Tx) Mark() int { return len(t.log.changes) }

// UndoTo undoes the changes since the mark. The trial stays open.
func (t *Tx) UndoTo(mark int) {
	l := t.log
	l.open = false // the inverse changes are not recorded
	for len(l.changes) > mark {
		last := l.changes[len(l.changes)-1]
		l.changes = l.changes[:len(l.changes)-1]
		last()
	}
	l.open = true
}

// Undo undoes all changes and closes the trial.
func (t *Tx) Undo() {
	t.UndoTo(0)
	t.log.open = false
}

// Keep closes the trial and keeps its changes.
func (t *Tx) Keep() {
	clear(t.log.changes)
	t.log.changes = t.log.changes[:0]
	t.log.open = false
}
