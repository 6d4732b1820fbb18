package reconciler

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Queue is where keys wait to be reconciled; a Runner is one. It stands here, and not with
// each controller, because all of them mean the same.
type Queue[K comparable] interface {
	Add(key K)
	AddAfter(key K, d time.Duration)
}

// Recorder publishes events about objects; record.EventRecorder is one.
type Recorder interface {
	Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any)
}
