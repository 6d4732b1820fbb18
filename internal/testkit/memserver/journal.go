package memserver

import (
	"context"
	"errors"
	"maps"

	"github.com/allot-dev/allot/internal/apiserver/registry"
)

// journal implements registry.Journal. Its entries are no objects: a Snapshot does not have them,
// and a Restore removes them.
type journal struct {
	server *Server
}

var _ registry.Journal = journal{}

// errKilled is the error of a write that a killed server does not make.
var errKilled = errors.New("the server was killed")

// InterruptPlacement makes the server leave the next placement as if it were killed after it had
// recorded it and had made some of its writes, which create claims and bind pods. Resume completes it.
func (s *Server) InterruptPlacement(writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill = &writes
}

// Resume completes the placements that were interrupted, as a server does that starts.
func (s *Server) Resume(ctx context.Context) error { return s.kinds.Resume(ctx) }

// Begin implements registry.Journal.
func (j journal) Begin(_ context.Context, name string, entry []byte, versions map[string]int64) ([]string, error) {
	m := j.server.Memory
	if changed := m.record(name, entry, versions); len(changed) > 0 {
		return changed, nil
	}
	if !m.beginToDie() {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = j.server.Resume(ctx) // it fails where the server is killed
	m.revive()
	return nil, errKilled
}

// End implements registry.Journal.
func (j journal) End(_ context.Context, name string) error {
	m := j.server.Memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.killed {
		return errKilled
	}
	delete(m.entries, name)
	return nil
}

// Open implements registry.Journal.
func (j journal) Open(context.Context) (map[string][]byte, error) {
	m := j.server.Memory
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.entries), nil
}

// record stores an entry of the journal if the objects have these revisions, and otherwise returns
// the keys of those that have not.
func (m *Memory) record(name string, entry []byte, versions map[string]int64) (changed []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, version := range versions {
		if m.objects[key].revision != uint64(version) {
			changed = append(changed, key)
		}
	}
	if len(changed) == 0 {
		m.entries[name] = entry
	}
	return changed
}

// beginToDie reports whether the server is killed now. Some writes may be left.
func (m *Memory) beginToDie() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kill == nil {
		return false
	}
	m.killed, m.left, m.kill = true, *m.kill, nil
	return true
}

// revive ends what beginToDie has begun: a new server serves the Memory.
func (m *Memory) revive() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.killed = false
}

// write counts a write, and fails if the server was killed before it.
func (m *Memory) write() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.killed:
		return nil
	case m.left == 0:
		return errKilled
	}
	m.left--
	return nil
}
