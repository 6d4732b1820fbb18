package templatesync

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// board has the standings of all namespaces that were looked at. It is safe for use from several goroutines.
type board struct {
	mu         sync.Mutex
	namespaces map[string]map[types.UID]Standing
}

func newBoard() *board { return &board{namespaces: map[string]map[types.UID]Standing{}} }

// put takes what a look at a namespace found, and tells for which originals that is news.
func (b *board) put(namespace string, found map[types.UID]Standing) (news []types.UID) {
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

// drop forgets a namespace that is gone, and tells for which originals that is news.
func (b *board) drop(namespace string) []types.UID {
	news := b.put(namespace, nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.namespaces, namespace)
	return news
}

// seen tells whether a namespace was looked at.
func (b *board) seen(namespace string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.namespaces[namespace]
	return ok
}

// standing is where an original stands in a namespace; Pending until that was looked at for its present content.
func (b *board) standing(namespace string, o *Original) Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.namespaces[namespace][o.UID]
	if !ok || s.hash != o.Hash {
		return Standing{State: Pending, Present: s.Present}
	}
	return s
}
