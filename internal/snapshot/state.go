package snapshot

import "github.com/allot-dev/allot/internal/model"

// State returns the State of a scheduler whose pods have this spec.schedulerName.
func (s *Snapshot) State(schedulerName string) (*model.State, error) {
	w, err := s.World(schedulerName)
	if err != nil {
		return nil, err
	}
	return w.State, nil
}
