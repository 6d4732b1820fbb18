package plugins

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// keyLocks are locks by key.
type keyLocks struct {
	mu     sync.Mutex
	locked map[types.UID]chan struct{} // closed at the release
}

// lock takes the locks of all keys, which must be sorted and distinct.
func (l *keyLocks) lock(ctx context.Context, keys []types.UID) (unlock func(), err error) {
	for i, key := range keys {
		if err := l.lockOne(ctx, key); err != nil {
			l.unlock(keys[:i])
			return nil, err
		}
	}
	return func() { l.unlock(keys) }, nil
}

func (l *keyLocks) lockOne(ctx context.Context, key types.UID) error {
	for {
		l.mu.Lock()
		released, taken := l.locked[key]
		if !taken {
			if l.locked == nil {
				l.locked = map[types.UID]chan struct{}{}
			}
			l.locked[key] = make(chan struct{})
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-released:
		}
	}
}

func (l *keyLocks) unlock(keys []types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		close(l.locked[key])
		delete(l.locked, key)
	}
}
