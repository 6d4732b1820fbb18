package placement

import "github.com/allot-dev/allot/internal/alloc"

// attempt places as many members as it can, given the current allocation of shared claims. It
// reports whether every member was placed.
func (s *search) attempt() bool {
	if most, futile := s.isFutile(); futile {
		s.best.reached = max(s.best.reached, most)
		s.budget.Spent++
		return false
	}
	start := s.trial.mark()
	s.filler.fillAll(s.active)
	s.best.record()
	placed := len(s.trial.pods)
	for s.deep && placed < len(s.input.members) {
		// Other nodes and devices for earlier members may achieve what filling cannot.
		target := s.best.target()
		s.trial.undo(start)
		if refutes(s.active, target) || !s.fillTogether(target) && !s.searchDeep(target) {
			break
		}
		s.best.record()
		placed = len(s.trial.pods)
	}
	s.trial.undo(start)
	if !s.deep && !s.promising && placed < len(s.input.members) {
		s.promising = !refutes(s.active, s.best.target())
	}
	// To continue for a better result costs what placing the unit costs.
	s.budget.Spent += placed
	return placed == len(s.input.members)
}

// mixShare is the part of the steps that are left which are spent on mixes of members for each node.
const mixShare = 2

// searchDeep searches for a placement of at least target members: first for how many members of
// each class each node gets, and then for each member. It leaves nothing in the trial if it fails.
func (s *search) searchDeep(target int) bool {
	budget := &s.budget.Budget
	limited := alloc.Budget{Limit: (budget.Limit - budget.Spent) / mixShare}
	if m := newMixer(s.active, &limited); m != nil {
		outcome := m.find(target)
		budget.Spent += limited.Spent
		switch outcome {
		case alloc.Exhausted:
			return false
		case alloc.Accepted:
			start := s.trial.mark()
			if m.place(&s.filler); len(s.trial.pods) >= target {
				return true
			}
			s.best.recordProgress()
			s.trial.undo(start)
		}
	}
	return backtrack(&s.filler, &s.best, s.active, target)
}

// isFutile reports whether counting proves that an attempt can place no more members than an
// earlier one, and how many it can place.
func (s *search) isFutile() (most int, futile bool) {
	if s.best.failure == nil {
		return 0, false
	}
	most = capacityFor(s.active, false).members
	return most, most <= max(s.best.placed, s.best.failure.Placed)
}

// fillTogether places at least target members, with devices found for all members of a node
// together. It leaves nothing in the trial if it fails.
func (s *search) fillTogether(target int) bool {
	if s.input.state.Devices.HasDraws() {
		return false
	}
	start := s.trial.mark()
	s.filler.fillTogether(s.active)
	if len(s.trial.pods) >= target {
		return true
	}
	s.best.recordProgress()
	s.trial.undo(start)
	return false
}
