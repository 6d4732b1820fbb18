package job

import (
	"fmt"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// evaluate decides whether and why the Job must end. The result of an earlier pass is kept. A
// failure takes precedence over a success that is seen in the same pass.
func (p *pass) evaluate() bool {
	for _, t := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget} {
		if c, ok := trueCondition(p.Status.Conditions, t); ok {
			p.ending = &c
			return true
		}
	}
	return p.failsByPolicy() || p.failsByLimit() || p.failsByTime() || p.failsByIndexes() || p.succeedsByPolicy()
}

func (p *pass) fail(reason, message string) bool {
	return p.setEnding(batchv1.JobFailureTarget, reason, message)
}

func (p *pass) setEnding(t batchv1.JobConditionType, reason, message string) bool {
	c := p.condition(t, reason, message)
	p.ending = &c
	p.Status.Conditions = append(p.Status.Conditions, c)
	return true
}

func (p *pass) failsByPolicy() bool {
	for _, pod := range p.tally.pods {
		if !p.tally.hasFailed(pod) {
			continue
		}
		if r := rule(p.job, pod); r.action == batchv1.PodFailurePolicyActionFailJob {
			return p.fail(batchv1.JobReasonPodFailurePolicy, r.message)
		}
	}
	return false
}

func (p *pass) failsByLimit() bool {
	if p.tally.failed > backoffLimit(p.job) || p.tally.restartsTooOften() {
		return p.fail(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	}
	return false
}

// restartsTooOften reports whether restarts of containers exceed the limit.
func (t *tally) restartsTooOften() bool {
	if t.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	restarts := 0
	for _, pod := range t.pods {
		if pod.Finished() {
			continue
		}
		for _, s := range pod.Status.InitContainerStatuses {
			restarts += int(s.RestartCount)
		}
		for _, s := range pod.Status.ContainerStatuses {
			restarts += int(s.RestartCount)
		}
	}
	return restarts > 0 && restarts >= backoffLimit(t.job)
}

func (p *pass) failsByTime() bool {
	limit := p.job.Spec.ActiveDeadlineSeconds
	if limit == nil || isSuspended(p.job) {
		return false
	}
	longest := int64(math.MaxInt64 / time.Second) // validation does not limit the value
	left := p.Status.StartTime.Add(time.Duration(min(*limit, longest)) * time.Second).Sub(p.now.Time)
	if left <= 0 {
		return p.fail(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	}
	p.requeueAfter(left)
	return false
}

func (p *pass) failsByIndexes() bool {
	if !limitsIndexes(p.job) {
		return false
	}
	failed := p.tally.failedIndexes.Len()
	if most := p.job.Spec.MaxFailedIndexes; most != nil && failed > int(*most) {
		return p.fail(batchv1.JobReasonMaxFailedIndexesExceeded,
			"Job has exceeded the specified maximal number of failed indexes")
	}
	if limit, _ := completions(p.job); failed > 0 && failed+p.tally.succeeded >= limit {
		return p.fail(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
	}
	return false
}

func (p *pass) succeedsByPolicy() bool {
	at, ok := satisfied(p.job, p.tally.done)
	return ok &&
		p.setEnding(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy,
			fmt.Sprintf("Matched rules at index %d", at))
}

// complete reports whether enough pods have succeeded. It waits for running pods: surplus pods are
// dropped before, and in a Job without completions all pods end by themselves.
func (p *pass) complete() bool {
	limit, ok := completions(p.job)
	if !ok {
		limit = 1
	}
	if p.tally.succeeded < limit || len(p.tally.active) > 0 {
		return false
	}
	return p.setEnding(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached,
		"Reached expected number of succeeded pods")
}

// conclude ends the Job when no pod is left to be stopped, counted or waited for.
func (p *pass) conclude() {
	u := p.Status.UncountedTerminatedPods
	if p.ending == nil || len(p.tally.active)+len(p.tally.terminating)+len(p.Release)+len(u.Succeeded)+len(u.Failed) > 0 {
		return
	}
	if p.Status.StartTime == nil {
		p.Status.StartTime = &p.now // for a suspended Job; an ended Job must have a start time
	}
	if p.ending.Type == batchv1.JobFailureTarget {
		p.Status.Conditions = append(p.Status.Conditions, p.condition(batchv1.JobFailed, p.ending.Reason, p.ending.Message))
		p.addEvent(corev1.EventTypeWarning, p.ending.Reason, p.ending.Message)
		return
	}
	p.Status.Conditions = append(p.Status.Conditions, p.condition(batchv1.JobComplete, p.ending.Reason, p.ending.Message))
	p.Status.CompletionTime = &p.now
	if limit, ok := completions(p.job); ok && p.tally.succeeded > limit {
		p.addEvent(corev1.EventTypeWarning, "TooManySucceededPods",
			"Too many succeeded pods running after completion count reached")
	}
	p.addEvent(corev1.EventTypeNormal, "Completed", "Job completed")
}
