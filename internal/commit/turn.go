package commit

import (
	"sync"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// turns has the writers of one claim go one after the other, each over what the one before has got back: pods that share
// a claim without a group are added to its list one by one, and at once they would only conflict.
type turns struct {
	mu sync.Mutex
	of map[model.Key]*turn
}

// turn is whose turn it is to write a claim. It is there as long as somebody writes or waits.
type turn struct {
	mu     sync.Mutex
	users  int                     // guarded by turns.mu
	latest *resource.ResourceClaim // what was written last; nil if nothing was
}

func newTurns() *turns { return &turns{of: map[model.Key]*turn{}} }

// take waits for the turn to write a claim; end gives it on.
func (t *turns) take(key model.Key) *turn {
	t.mu.Lock()
	mine, ok := t.of[key]
	if !ok {
		mine = &turn{}
		t.of[key] = mine
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
		delete(t.of, key)
	}
}
