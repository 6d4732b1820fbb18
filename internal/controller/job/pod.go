package job

import (
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/storage/names"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// indexEnv is the environment variable with the index.
const indexEnv = "JOB_COMPLETION_INDEX"

// noIndex is the index of a pod without one.
const noIndex = -1

// Creation is a pod to create.
type Creation struct {
	Index int // noIndex if the Job is not indexed
	// Failures and Ignored count the failures of this index, if each index has its own limit.
	Failures, Ignored int
}

// NewPod returns a pod of the Job. group is the PodGroup to join; "" for none.
func NewPod(job *batch.Job, want Creation, group string) *core.Pod {
	pod := replica.New(job, kind, &job.Spec.Template)
	if !isTracked(pod) {
		pod.Finalizers = append(pod.Finalizers, batchv1.JobTrackingFinalizer)
	}
	if group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	if want.Index == noIndex {
		return pod
	}
	index := strconv.Itoa(want.Index)
	suffix := "-" + index + "-"
	pod.GenerateName = job.Name[:min(len(job.Name), names.MaxGeneratedNameLength-len(suffix))] + suffix
	pod.Spec.Hostname = job.Name + "-" + index
	pod.Labels = withEntry(pod.Labels, batchv1.JobCompletionIndexAnnotation, index)
	pod.Annotations = withEntry(pod.Annotations, batchv1.JobCompletionIndexAnnotation, index)
	if limitsIndexes(job) {
		pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(want.Failures)
		if want.Ignored > 0 {
			pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(want.Ignored)
		}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			setIndex(&containers[i])
		}
	}
	return pod
}

func setIndex(c *corev1.Container) {
	if slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == indexEnv }) {
		return
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: indexEnv, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']"},
	}})
}

func withEntry(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// isTracked reports whether the pod's end is not in the Job's status yet.
func isTracked(pod *core.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// indexOf returns the pod's completion index, or noIndex.
func indexOf(pod *core.Pod) int {
	index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || index < 0 {
		return noIndex
	}
	return index
}

// failures returns how often pods of the index failed before this pod.
func failures(pod *core.Pod) (counted, ignored int) {
	return number(pod, batchv1.JobIndexFailureCountAnnotation), number(pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
}

// number returns the value of an annotation, or 0 if it is invalid.
func number(pod *core.Pod, annotation string) int {
	n, err := strconv.ParseInt(pod.Annotations[annotation], 10, 32)
	if err != nil {
		return 0
	}
	return max(0, int(n))
}
