package preempt

import (
	"time"

	"github.com/allot-dev/allot/internal/model"
)

// Input has the facts about the present that the State does not have.
type Input struct {
	Now time.Time // decides which pods should have been deleted long ago
	// IsEvicted reports whether a pod is being evicted; nil if none is.
	IsEvicted func(*model.Pod) bool
}
