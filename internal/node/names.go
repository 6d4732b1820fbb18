package node

import "sync"

// names is a set of names that is safe for concurrent use.
type names struct {
	mu  sync.Mutex
	set map[string]bool
}

func newNames() *names { return &names{set: map[string]bool{}} }

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.set[name] = true
}

func (n *names) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.set[name]
}
