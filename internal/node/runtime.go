package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Runtime runs the containers of pods. Pods are told apart by UID. All methods may be called from several goroutines, for one
// pod from one at a time; all of them may be called again with the same arguments.
//
// It has four methods because a pod has four: they are the life of one and come in this order.
type Runtime interface {
	// Start begins to run the pod, whose claims have all been prepared. When the pod's status says that it was started before (by an agent that has gone since),
	// Start takes up what is left of it. An error means that the pod cannot be started as it is.
	Start(ctx context.Context, pod *core.Pod) error
	// Status says how the pod's containers are. It is false for a pod that was not started, or was removed.
	Status(pod *core.Pod) (PodState, bool)
	// Stop asks the containers to end, at the latest when grace has passed. Of several requests the earliest end counts.
	Stop(ctx context.Context, pod *core.Pod, grace time.Duration) error
	// Remove forgets the pod, running or not.
	Remove(pod *core.Pod)
}

// PodState is what a runtime knows of a pod.
type PodState struct {
	// Init and Containers have one entry for each container of the spec, in its order.
	Init, Containers []corev1.ContainerStatus
	// Ended: no container runs, and none will again.
	Ended bool
	// Again is when the state will change by itself; zero when it will not.
	Again time.Time
}
