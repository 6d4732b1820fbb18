package attach

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// eventDeduper remembers the last text reported for each object, so that each text is reported
// once. The zero value is ready to use.
type eventDeduper struct {
	mu    sync.Mutex
	texts map[types.UID]string
}

// isNew reports whether the text must be reported. An empty text never is.
func (s *eventDeduper) isNew(uid types.UID, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.texts[uid]
	if text == "" {
		delete(s.texts, uid)
		return false
	}
	if s.texts == nil {
		s.texts = map[types.UID]string{}
	}
	s.texts[uid] = text
	return text != before
}
