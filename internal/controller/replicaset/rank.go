package replicaset

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// candidate is a pod with all properties that decide its rank.
type candidate struct {
	pod        *core.Pod
	assigned   bool
	phase      int // pending 0, unknown 1, running 2
	ready      bool
	readySince time.Time
	cost       int32
	neighbours int // active related pods on its node
	restarts   int
	sidecars   int // restarts of sidecar containers
}

// ByDeletionPreference sorts pods so that the pod to delete first comes first: not assigned before
// assigned, pending before running, not ready before ready, lower
// controller.kubernetes.io/pod-deletion-cost, more related pods on the same node, ready for a
// shorter time, more restarts, younger. Ages are compared by order of magnitude (powers of two),
// and equal ones by UID, which is arbitrary but stable.
func ByDeletionPreference(pods, related []*core.Pod, now time.Time) {
	onNode := map[string]int{}
	for _, pod := range related {
		if replica.Active(pod) {
			onNode[pod.Spec.NodeName]++
		}
	}
	candidates := make([]candidate, len(pods))
	for i, pod := range pods {
		candidates[i] = newCandidate(pod, onNode[pod.Spec.NodeName])
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return a.compare(b, now) })
	for i := range candidates {
		pods[i] = candidates[i].pod
	}
}

func newCandidate(pod *core.Pod, neighbours int) candidate {
	c := candidate{pod: pod, assigned: pod.Spec.NodeName != "", neighbours: neighbours, cost: deletionCost(pod)}
	switch pod.Status.Phase {
	case corev1.PodRunning:
		c.phase = 2
	case corev1.PodUnknown:
		c.phase = 1
	}
	c.readySince, c.ready = replica.ReadySince(pod)
	c.restarts, c.sidecars = restarts(pod)
	return c
}

func (c candidate) compare(b candidate, now time.Time) int {
	if d := cmp.Or(
		replica.FalseFirst(c.assigned, b.assigned),
		cmp.Compare(c.phase, b.phase),
		replica.FalseFirst(c.ready, b.ready),
		cmp.Compare(c.cost, b.cost),
		cmp.Compare(b.neighbours, c.neighbours),
	); d != 0 {
		return d
	}
	if c.ready && b.ready && !c.readySince.Equal(b.readySince) {
		return c.compareAge(b, c.readySince, b.readySince, now)
	}
	if d := cmp.Or(cmp.Compare(b.restarts, c.restarts), cmp.Compare(b.sidecars, c.sidecars)); d != 0 {
		return d
	}
	created, other := c.pod.CreationTimestamp.Time, b.pod.CreationTimestamp.Time
	if created.Equal(other) {
		return strings.Compare(string(c.pod.UID), string(b.pod.UID))
	}
	return c.compareAge(b, created, other, now)
}

// compareAge sorts the later of two times first, by order of magnitude of the age. A missing time
// is the latest.
func (c candidate) compareAge(b candidate, at, other, now time.Time) int {
	if at.IsZero() || other.IsZero() {
		return replica.FalseFirst(!at.IsZero(), !other.IsZero())
	}
	return cmp.Or(
		cmp.Compare(magnitude(now.Sub(at)), magnitude(now.Sub(other))),
		strings.Compare(string(c.pod.UID), string(b.pod.UID)),
	)
}

// magnitude returns the integer part of log2 of an age in nanoseconds, or -1 without an age.
func magnitude(age time.Duration) int {
	if age <= 0 {
		return -1
	}
	return int(math.Log2(float64(age)))
}

// deletionCost returns the annotated cost, or 0 if it is missing or not a number.
func deletionCost(pod *core.Pod) int32 {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int32(cost)
}

// restarts returns the highest counts of regular containers and of sidecars.
func restarts(pod *core.Pod) (regular, sidecar int) {
	for _, s := range pod.Status.ContainerStatuses {
		regular = max(regular, int(s.RestartCount))
	}
	for _, s := range pod.Status.InitContainerStatuses {
		if isSidecar(pod, s.Name) {
			sidecar = max(sidecar, int(s.RestartCount))
		}
	}
	return regular, sidecar
}

func isSidecar(pod *core.Pod, container string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == container && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}
