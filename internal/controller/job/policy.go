package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// ruling is the result of the podFailurePolicy for a failed pod.
type ruling struct {
	action  batchv1.PodFailurePolicyAction // Count if no rule matches
	message string                         // message for FailJob
}

// counts reports whether the failure counts towards the limits.
func (r ruling) counts() bool { return r.action != batchv1.PodFailurePolicyActionIgnore }

// rule applies the first rule that the failed pod matches.
func rule(job *batch.Job, pod *core.Pod) ruling {
	if job.Spec.PodFailurePolicy == nil {
		return ruling{action: batchv1.PodFailurePolicyActionCount}
	}
	for i, r := range job.Spec.PodFailurePolicy.Rules {
		what, ok := matches(r, pod)
		if !ok {
			continue
		}
		return ruling{action: r.Action, message: fmt.Sprintf("%s matching %s rule at index %d", what, r.Action, i)}
	}
	return ruling{action: batchv1.PodFailurePolicyActionCount}
}

// matches returns what matches the rule.
func matches(r batchv1.PodFailurePolicyRule, pod *core.Pod) (what string, ok bool) {
	if r.OnExitCodes != nil {
		for _, c := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
			if hasExitCode(c, r.OnExitCodes) {
				return fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d",
					c.Name, pod.Namespace, pod.Name, c.State.Terminated.ExitCode), true
			}
		}
		return "", false
	}
	for _, c := range pod.Status.Conditions {
		if slices.ContainsFunc(r.OnPodConditions, func(p batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
			return p.Type == c.Type && p.Status == c.Status
		}) {
			return fmt.Sprintf("Pod %s/%s has condition %s", pod.Namespace, pod.Name, c.Type), true
		}
	}
	return "", false
}

// hasExitCode reports whether the container failed with a matching exit code. Exit code 0 never
// matches.
func hasExitCode(c corev1.ContainerStatus, wanted *batchv1.PodFailurePolicyOnExitCodesRequirement) bool {
	ended := c.State.Terminated
	if ended == nil || ended.ExitCode == 0 || wanted.ContainerName != nil && *wanted.ContainerName != c.Name {
		return false
	}
	listed := slices.Contains(wanted.Values, ended.ExitCode)
	switch wanted.Operator {
	case batchv1.PodFailurePolicyOnExitCodesOpIn:
		return listed
	case batchv1.PodFailurePolicyOnExitCodesOpNotIn:
		return !listed
	}
	return false
}

// satisfied returns the number of the first rule of the successPolicy that the succeeded indexes
// satisfy.
func satisfied(job *batch.Job, succeeded Indexes) (at int, ok bool) {
	limit, indexed := completions(job)
	if job.Spec.SuccessPolicy == nil || !indexed || len(succeeded) == 0 {
		return 0, false
	}
	for i, r := range job.Spec.SuccessPolicy.Rules {
		among, wanted := succeeded.Len(), 0
		if r.SucceededIndexes != nil {
			these := ParseIndexes(*r.SucceededIndexes, limit)
			among, wanted = these.Common(succeeded), these.Len()
		}
		if r.SucceededCount != nil {
			wanted = int(*r.SucceededCount)
		}
		if wanted > 0 && among >= wanted {
			return i, true
		}
	}
	return 0, false
}
