package commit

import (
	"sync"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// turns serializes the writers of each claim, so that each one starts from the result of the
// previous write. Pods that share a claim without a group are added to reservedFor one by one, and
// concurrent writes would conflict.
type turns struct {
	mu    sync.Mutex
	byKey map[model.Key]*turn
}

// turn is the right to write a claim. It exists while a writer writes or waits.
type turn struct {
	mu     sync.Mutex
	users  int                     // guarded by turns.mu
	latest *resource.ResourceClaim // last version written; nil if there is none
}

func newTurns() *turns { return &turns{byKey: map[model.Key]*turn{}} }

// take waits for the turn to write a claim; end releases it.
func (t *turns) take(key model.Key) *turn {
	t.mu.Lock()
	mine, ok := t.byKey[key]
	if !ok {
		mine = &turn{}
		t.byKey[key] = mine
	}
	mine.users++
	t.mu.Unlock()
	mine.mu.Lock()
	return mine
}

func (t *turns) end(key model.Key, mine *turn) {
	mine.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(t.byKey, key)
	}
}
