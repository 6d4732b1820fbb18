package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Runtime runs the containers of pods, which are identified by UID. Its methods may be called
// concurrently, but not for the same pod, and are idempotent.
//
// The four methods correspond to the life of a pod and are called in this order.
type Runtime interface {
	// Start runs the pod, after all its claims have been prepared. If the status shows that the pod
	// was started before, by an earlier agent, Start resumes it. An error means that the pod cannot
	// be started in its current form.
	Start(ctx context.Context, pod *core.Pod) error
	// Status returns the state of the containers. It returns false for a pod that was not started
	// or was removed.
	Status(pod *core.Pod) (PodState, bool)
	// Stop requests the containers to end within the grace period. Of several requests, the
	// earliest end applies.
	Stop(ctx context.Context, pod *core.Pod, grace time.Duration) error
	// Remove drops the pod, running or not.
	Remove(pod *core.Pod)
}

// PodState is the state of a pod in the runtime.
type PodState struct {
	// Init and Containers have one entry per container of the spec, in order.
	Init, Containers []corev1.ContainerStatus
	// Created means that the pod has no containers yet.
	Created bool
	// Ended means that no container runs or will run again.
	Ended bool
	// Again is the time of the next change, or zero if there is none.
	Again time.Time
}
