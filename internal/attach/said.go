package attach

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// said remembers what was told last of which object, so that it is told once. The zero value has told nothing.
type said struct {
	mu    sync.Mutex
	texts map[types.UID]string
}

// news says whether text is to be told; an empty one never is.
func (s *said) news(uid types.UID, text string) bool {
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
