package scheduler

import "sync"

// mailbox hands values from several goroutines to one, without ever blocking the senders.
type mailbox[T any] struct {
	mu     sync.Mutex
	values []T
	wake   chan struct{} // holds a token while there are values
}

func newMailbox[T any]() *mailbox[T] {
	return &mailbox[T]{wake: make(chan struct{}, 1)}
}

func (m *mailbox[T]) put(v T) {
	m.mu.Lock()
	m.values = append(m.values, v)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default: // a token is there already
	}
}

// take gives all values since the last call.
func (m *mailbox[T]) take() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	values := m.values
	m.values = nil
	return values
}
