package reconciler

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Queue is a queue of keys to be reconciled, such as a Runner. All controllers share this
// interface.
type Queue[K comparable] interface {
	Add(key K)
	AddAfter(key K, d time.Duration)
}

// Recorder records events about objects, such as a record.EventRecorder.
type Recorder interface {
	Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any)
}
