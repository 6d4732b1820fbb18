package templatesync

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// standingBoard holds the standings of all namespaces that were reconciled. It is safe for concurrent use.
type standingBoard struct {
	mu         sync.Mutex
	namespaces map[string]map[types.UID]Standing
}

func newBoard() *standingBoard {
	return &standingBoard{namespaces: map[string]map[types.UID]Standing{}}
}

// put records the standings of a namespace, and returns the originals for which they have changed.
func (b *standingBoard) put(namespace string, found map[types.UID]Standing) (news []types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.namespaces[namespace]
	for uid, standing := range found {
		if old, ok := before[uid]; !ok || old != standing {
			news = append(news, uid)
		}
	}
	for uid := range before {
		if _, ok := found[uid]; !ok {
			news = append(news, uid)
		}
	}
	b.namespaces[namespace] = found
	return news
}

// drop removes a deleted namespace, and returns the originals for which that is a change.
func (b *standingBoard) drop(namespace string) []types.UID {
	news := b.put(namespace, nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.namespaces, namespace)
	return news
}

// isReconciled reports whether a namespace was reconciled.
func (b *standingBoard) isReconciled(namespace string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.namespaces[namespace]
	return ok
}

// standing returns the standing of an original in a namespace. It is Pending until the namespace
// was reconciled for the current content.
func (b *standingBoard) standing(namespace string, o *Original) Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.namespaces[namespace][o.UID]
	if !ok || s.hash != o.Hash {
		return Standing{State: Pending, Present: s.Present}
	}
	return s
}
