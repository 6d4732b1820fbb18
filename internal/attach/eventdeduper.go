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
func (d *eventDeduper) isNew(uid types.UID, text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.texts[uid]
	if text == "" {
		delete(d.texts, uid)
		return false
	}
	if d.texts == nil {
		d.texts = map[types.UID]string{}
	}
	d.texts[uid] = text
	return text != before
}
