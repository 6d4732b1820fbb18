package memserver

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
)

// Memory is a store of the objects of all kinds. It outlives its watchers.
type Memory struct {
	mu       sync.Mutex
	revision uint64
	objects  map[string]record
	watchers map[*watcher]bool
	history  []Change
	oldest   uint64 // the earliest revision at which a watch can begin
	// entries are those of the journal.
	entries map[string][]byte
	// kill is how many writes the server makes of the next entry before it is killed; nil if it is
	// not. killed means that writes fail, but for so many that are left.
	kill   *int
	killed bool
	left   int
}

// record is a stored object. It is never changed.
type record struct {
	object   runtime.Object
	revision uint64
}

// Change is one write. Before is nil for a creation, and After for a deletion.
type Change struct {
	Resource      schema.GroupResource
	Before, After runtime.Object

	key      string
	revision uint64
}

// Snapshot is the content of a Memory at one time.
type Snapshot map[string]runtime.Object

func newMemory() *Memory {
	return &Memory{revision: 1, objects: map[string]record{}, watchers: map[*watcher]bool{}, entries: map[string][]byte{}}
}

// Snapshot returns the stored objects.
func (m *Memory) Snapshot() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Snapshot{}
	for key, r := range m.objects {
		s[key] = r.object
	}
	return s
}

// Restore replaces the stored objects by those of the Snapshot, and empties the journal. Watchers
// receive the differences as creations, updates and deletions.
func (m *Memory) Restore(s Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(m.objects)) {
		if s[key] == nil {
			m.putLocked(key, m.objects[key].revision, nil)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		m.putLocked(key, m.objects[key].revision, s[key])
	}
	m.history = nil
	clear(m.entries)
}

// Forget drops the history, as a restart of an API server does. A watch from an earlier revision
// ends with an error, after which the client lists again.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.oldest = m.revision
}

// Revision returns the revision of the last write.
func (m *Memory) Revision() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.revision
}

// Changes returns the writes since the last Restore. Their objects are read-only.
func (m *Memory) Changes() []Change {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.history)
}

// Objects returns the objects of a kind, ordered by name. They are read-only, and have no resource
// version.
func (m *Memory) Objects(resource schema.GroupResource) []runtime.Object {
	records, _ := m.below(prefixOf(resource))
	objects := make([]runtime.Object, len(records))
	for i, r := range records {
		objects[i] = r.object
	}
	return objects
}

func prefixOf(resource schema.GroupResource) string { return "/" + resource.String() + "/" }

func resourceOf(key string) schema.GroupResource {
	resource, _, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	return schema.ParseGroupResource(resource)
}

func (m *Memory) get(key string) (record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.objects[key]
	return r, ok
}

// below returns the records whose keys begin with prefix, ordered by key, and their revision.
func (m *Memory) below(prefix string) ([]record, uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.belowLocked(prefix), m.revision
}

func (m *Memory) belowLocked(prefix string) []record {
	var found []record
	for _, key := range slices.Sorted(maps.Keys(m.objects)) {
		if strings.HasPrefix(key, prefix) {
			found = append(found, m.objects[key])
		}
	}
	return found
}

// put stores an object if the current one has the revision over, which is 0 for none. It reports
// whether it has. A nil object deletes the current one. An unchanged object is not written.
func (m *Memory) put(key string, over uint64, object runtime.Object) (record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.putLocked(key, over, object)
}

func (m *Memory) putLocked(key string, over uint64, object runtime.Object) (record, bool) {
	old, there := m.objects[key]
	if old.revision != over {
		return record{}, false
	}
	if there && object != nil && apiequality.Semantic.DeepEqual(old.object, object) {
		return old, true
	}
	m.revision++
	now := record{object, m.revision}
	if object == nil {
		delete(m.objects, key)
	} else {
		m.objects[key] = now
	}
	c := Change{Resource: resourceOf(key), Before: old.object, After: object, key: key, revision: m.revision}
	m.history = append(m.history, c)
	for w := range m.watchers {
		w.onChange(c)
	}
	return now, true
}

// store is the part of a Memory for one kind.
type store struct {
	memory *Memory
	prefix string
	newOne func() runtime.Object
}

var _ storage.Interface = &store{}

// Versioner implements storage.Interface.
func (s *store) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// copyOut returns a copy of a stored object for a caller.
func (s *store) copyOut(object runtime.Object, revision uint64) (runtime.Object, error) {
	object = object.DeepCopyObject()
	return object, s.Versioner().UpdateObject(object, revision)
}

// copyIn returns a copy of a caller's object for the store.
func (s *store) copyIn(object runtime.Object) (runtime.Object, error) {
	object = object.DeepCopyObject()
	return object, s.Versioner().PrepareObjectForStorage(object)
}

// Stats implements storage.Interface.
func (s *store) Stats(context.Context) (storage.Stats, error) {
	found, _ := s.memory.below(s.prefix)
	return storage.Stats{ObjectCount: int64(len(found))}, nil
}

// ReadinessCheck implements storage.Interface.
func (*store) ReadinessCheck() error { return nil }

// RequestWatchProgress implements storage.Interface.
func (*store) RequestWatchProgress(context.Context) error { return nil }

// GetCurrentResourceVersion implements storage.Interface.
func (s *store) GetCurrentResourceVersion(context.Context) (uint64, error) {
	return s.memory.Revision(), nil
}

// EnableResourceSizeEstimation implements storage.Interface.
func (*store) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

// CompactRevision implements storage.Interface.
func (*store) CompactRevision() int64 { return 0 }
