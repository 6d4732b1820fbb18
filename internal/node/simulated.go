package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
)

// simulated is a Runtime that runs no containers and only keeps time.
type simulated struct {
	clock   clock.PassiveClock
	stopFor time.Duration // stop time of pods without an annotation

	mu    sync.Mutex
	lives map[types.UID]*life
}

// NewSimulated returns the simulated Runtime. Annotations of a pod determine how long it runs and
// how it ends; stopFor is the default for the time to stop.
func NewSimulated(c clock.PassiveClock, stopFor time.Duration) Runtime {
	return &simulated{clock: c, stopFor: stopFor, lives: map[types.UID]*life{}}
}

func (s *simulated) Start(_ context.Context, pod *core.Pod) error {
	sc, err := readScript(pod.Annotations, s.stopFor)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.lives[pod.UID]; !ok {
		now := s.clock.Now()
		l := &life{script: sc, policy: pod.Spec.RestartPolicy, begun: now, start: now}
		l.takeUp(pod.Status.ContainerStatuses)
		s.lives[pod.UID] = l
	}
	return nil
}

// takeUp resumes from the status of a pod.
func (l *life) takeUp(statuses []corev1.ContainerStatus) {
	if len(statuses) == 0 {
		return
	}
	st := statuses[0]
	l.restarts = st.RestartCount
	if t := st.LastTerminationState.Terminated; t != nil {
		l.last = &run{start: t.StartedAt.Time, end: t.FinishedAt.Time, exitCode: t.ExitCode}
	}
	switch {
	case st.State.Running != nil:
		l.start = st.State.Running.StartedAt.Time
	case st.State.Waiting != nil && l.last != nil:
		l.start = l.last.end.Add(backoff(l.restarts))
		l.restarts++
	}
}

func (s *simulated) Status(pod *core.Pod) (PodState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lives[pod.UID]
	if !ok {
		return PodState{}, false
	}
	now := s.clock.Now()
	l.advance(now)
	state := PodState{Ended: l.ended, Again: l.nextChange(now)}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			state.Init = append(state.Init, l.container(pod, c, now))
		} else {
			state.Init = append(state.Init, l.initContainer(pod, c))
		}
	}
	for i := range pod.Spec.Containers {
		state.Containers = append(state.Containers, l.container(pod, &pod.Spec.Containers[i], now))
	}
	return state, true
}

func (s *simulated) Stop(_ context.Context, pod *core.Pod, grace time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.lives[pod.UID]; ok {
		l.stop(s.clock.Now(), grace)
	}
	return nil
}

func (s *simulated) Remove(pod *core.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lives, pod.UID)
}

func (l *life) container(pod *core.Pod, c *corev1.Container, now time.Time) corev1.ContainerStatus {
	running := l.running(now)
	restarts := l.restarts
	if !running && !l.ended {
		restarts-- // the next run has not started
	}
	st := blank(pod, c, restarts)
	st.Ready, st.Started = running, &running
	switch {
	case running:
		st.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(l.start)}
	case l.ended && l.last != nil:
		st.State.Terminated = l.last.terminated(st.ContainerID)
		return st
	default:
		st.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "waiting to be restarted"}
	}
	if l.last != nil {
		st.LastTerminationState.Terminated = l.last.terminated(containerID(pod, c.Name, l.restarts-1))
	}
	return st
}

// initContainer returns the status of an init container, which completes when the pod starts.
func (l *life) initContainer(pod *core.Pod, c *corev1.Container) corev1.ContainerStatus {
	st := blank(pod, c, 0)
	started := false
	st.Ready, st.Started = true, &started
	at := l.begun
	if i := slices.IndexFunc(pod.Status.InitContainerStatuses,
		func(s corev1.ContainerStatus) bool { return s.Name == c.Name }); i >= 0 {
		if t := pod.Status.InitContainerStatuses[i].State.Terminated; t != nil {
			at = t.FinishedAt.Time // as reported before
		}
	}
	st.State.Terminated = (&run{start: at, end: at}).terminated(st.ContainerID)
	return st
}

func (r *run) terminated(id string) *corev1.ContainerStateTerminated {
	reason := "Completed"
	if r.exitCode != 0 {
		reason = "Error"
	}
	return &corev1.ContainerStateTerminated{
		ExitCode: r.exitCode, Reason: reason, ContainerID: id,
		StartedAt: metav1.NewTime(r.start), FinishedAt: metav1.NewTime(r.end),
	}
}

func blank(pod *core.Pod, c *corev1.Container, restarts int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: "sim://" + c.Image,
		ContainerID: containerID(pod, c.Name, restarts), RestartCount: restarts,
	}
}

func containerID(pod *core.Pod, name string, restarts int32) string {
	return fmt.Sprintf("sim://%s/%s/%d", pod.UID, name, restarts)
}
