package validation

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
)

// ValidateJobStatusUpdate checks the status that the controller reports. Most rules apply only to
// changes: a change of the spec may violate a rule, and the controller needs one or two writes to
// restore it.
func ValidateJobStatusUpdate(job, old *batch.Job) field.ErrorList {
	c := jobChange{path: field.NewPath("status"), job: job, now: &job.Status, old: &old.Status}
	c.finished = c.conditionChanged(batchv1.JobComplete) || c.conditionChanged(batchv1.JobFailed)
	return join(
		metadataUpdate(&job.ObjectMeta, &old.ObjectMeta),
		c.counts(),
		c.uncounted(),
		c.conditions(),
		c.lastingConditions(),
		c.finishedJobHasNoPods(),
		c.startTime(),
		c.completionTime(),
		c.indexes(),
	)
}

// jobChange is a write of a Job's status.
type jobChange struct {
	path     *field.Path
	job      *batch.Job
	now, old *batchv1.JobStatus
	// finished is whether the write changes the Job to or from finished.
	finished bool
}

// hasCondition reports whether a condition has a status. A client may send a condition several
// times.
func hasCondition(s *batchv1.JobStatus, t batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(s.Conditions,
		func(c batchv1.JobCondition) bool { return c.Type == t && c.Status == status })
}

func isTrue(s *batchv1.JobStatus, t batchv1.JobConditionType) bool {
	return hasCondition(s, t, corev1.ConditionTrue)
}

func isFinished(s *batchv1.JobStatus) bool {
	return isTrue(s, batchv1.JobComplete) || isTrue(s, batchv1.JobFailed)
}

func (c *jobChange) conditionChanged(t batchv1.JobConditionType) bool {
	return isTrue(c.now, t) != isTrue(c.old, t)
}

// invalidIf returns an error for a field of the status if all conditions are true.
func (c *jobChange) invalidIf(name string, value any, message string, when ...bool) field.ErrorList {
	for _, w := range when {
		if !w {
			return nil
		}
	}
	return errorList(field.Invalid(c.path.Child(name), value, message))
}

func (c *jobChange) counts() field.ErrorList {
	s := c.now
	var errs field.ErrorList
	for _, n := range []struct {
		field string
		value int32
	}{
		{"active", s.Active}, {"succeeded", s.Succeeded}, {"failed", s.Failed},
		{"ready", ptr.Deref(s.Ready, 0)}, {"terminating", ptr.Deref(s.Terminating, 0)},
	} {
		errs = append(errs, nonNegative(c.path.Child(n.field), n.value)...)
	}
	// An Indexed Job that is scaled down drops the indexes that it no longer has.
	elastic := isIndexed(&c.job.Spec) && ptr.Equal(c.job.Spec.Completions, c.job.Spec.Parallelism)
	ready := ptr.Deref(s.Ready, 0)
	return join(
		errs,
		c.invalidIf("failed", s.Failed, "cannot be decremented", s.Failed < c.old.Failed),
		c.invalidIf("succeeded", s.Succeeded, "cannot be decremented", s.Succeeded < c.old.Succeeded, !elastic),
		c.invalidIf("ready", ready, "cannot be greater than active", s.Ready != nil, ready > s.Active,
			!ptr.Equal(s.Ready, c.old.Ready) || s.Active != c.old.Active),
	)
}

func (c *jobChange) uncounted() field.ErrorList {
	u := c.now.UncountedTerminatedPods
	if u == nil {
		return nil
	}
	path, seen := c.path.Child("uncountedTerminatedPods"), map[types.UID]bool{}
	rule := func(at *field.Path, uid *types.UID) field.ErrorList {
		defer func() { seen[*uid] = true }()
		switch {
		case *uid == "":
			return errorList(field.Invalid(at, "", "must not be empty"))
		case seen[*uid]:
			return errorList(field.Duplicate(at, *uid))
		}
		return nil
	}
	return join(each(path.Child("succeeded"), u.Succeeded, rule), each(path.Child("failed"), u.Failed, rule))
}

// conditions checks which conditions can be true together.
func (c *jobChange) conditions() field.ErrorList {
	complete, failed := isTrue(c.now, batchv1.JobComplete), isTrue(c.now, batchv1.JobFailed)
	target, met := isTrue(c.now, batchv1.JobFailureTarget), isTrue(c.now, batchv1.JobSuccessCriteriaMet)
	omit := field.OmitValueType{}
	indexes := !ptr.Equal(c.now.FailedIndexes, c.old.FailedIndexes)
	completed, failedNow := c.conditionChanged(batchv1.JobComplete), c.conditionChanged(batchv1.JobFailed)
	return join(
		c.invalidIf("conditions", omit, "Complete and Failed cannot both be True", complete, failed, completed || failedNow),
		c.invalidIf("conditions", omit, "Complete and FailureTarget cannot both be True", complete, target,
			completed || c.conditionChanged(batchv1.JobFailureTarget)),
		c.invalidIf("conditions", omit, "Failed needs FailureTarget to be True", failed, !target, failedNow || indexes),
		c.invalidIf("conditions", omit, "Complete needs SuccessCriteriaMet to be True", complete, !met,
			completed || c.conditionChanged(batchv1.JobSuccessCriteriaMet) || c.job.Spec.SuccessPolicy != nil),
		c.invalidIf("conditions", omit, "SuccessCriteriaMet and Failed cannot both be True", met, failed),
		c.invalidIf("conditions", omit, "SuccessCriteriaMet and FailureTarget cannot both be True", met, target),
	)
}

// lastingConditions checks that terminal conditions do not change.
func (c *jobChange) lastingConditions() field.ErrorList {
	var errs field.ErrorList
	for _, t := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget,
		batchv1.JobSuccessCriteriaMet} {
		errs = append(
			errs,
			c.invalidIf("conditions", field.OmitValueType{}, fmt.Sprintf("%s has been True and must stay so", t),
				isTrue(c.old, t), !isTrue(c.now, t))...)
	}
	return append(errs, c.invalidIf(
		"conditions",
		field.OmitValueType{},
		"SuccessCriteriaMet cannot come after Complete",
		isTrue(c.old, batchv1.JobComplete),
		!isTrue(c.old, batchv1.JobSuccessCriteriaMet),
		isTrue(c.now, batchv1.JobSuccessCriteriaMet),
	)...)
}

// finishedJobHasNoPods checks that a finished Job waits for no pods.
func (c *jobChange) finishedJobHasNoPods() field.ErrorList {
	s, end := c.now, isFinished(c.now)
	left := s.UncountedTerminatedPods != nil &&
		len(s.UncountedTerminatedPods.Failed)+len(s.UncountedTerminatedPods.Succeeded) > 0
	terminating := ptr.Deref(s.Terminating, 0)
	return join(
		c.invalidIf("active", s.Active, finishedJob, end, s.Active > 0, c.finished || s.Active != c.old.Active),
		c.invalidIf("terminating", terminating, finishedJob, end, terminating > 0,
			c.finished || !ptr.Equal(s.Terminating, c.old.Terminating)),
		c.invalidIf("uncountedTerminatedPods", field.OmitValueType{}, "must be empty once the Job is finished", end, left,
			c.finished || !equality.Semantic.DeepEqual(s.UncountedTerminatedPods, c.old.UncountedTerminatedPods)),
	)
}

const finishedJob = "must be 0 once the Job is finished"

func (c *jobChange) startTime() field.ErrorList {
	s, spec := c.now, &c.job.Spec
	changed := !s.StartTime.Equal(c.old.StartTime)
	var errs field.ErrorList
	// A suspended Job with 0 completions is complete before it starts.
	nothing := ptr.Deref(spec.Suspend, false) && spec.Completions != nil && *spec.Completions == 0
	if isFinished(s) && s.StartTime == nil && (c.finished || changed) && !nothing {
		errs = append(errs, field.Required(c.path.Child("startTime"), "needed once the Job is finished"))
	}
	resuming := isTrue(c.old, batchv1.JobSuspended) && hasCondition(s, batchv1.JobSuspended, corev1.ConditionFalse)
	return append(errs, c.invalidIf("startTime", s.StartTime, onlyOnceMessage+", unless the Job is suspended",
		changed, c.old.StartTime != nil, !ptr.Deref(spec.Suspend, false), !resuming)...)
}

func (c *jobChange) completionTime() field.ErrorList {
	s, complete := c.now, isTrue(c.now, batchv1.JobComplete)
	changed := !s.CompletionTime.Equal(c.old.CompletionTime)
	mayReport := changed || c.conditionChanged(batchv1.JobComplete)
	var errs field.ErrorList
	if complete && s.CompletionTime == nil && mayReport {
		errs = append(errs, field.Required(c.path.Child("completionTime"), "needed once the Job is complete"))
	}
	if s.CompletionTime == nil {
		return errs
	}
	moved := changed || !s.StartTime.Equal(c.old.StartTime)
	return join(
		errs,
		c.invalidIf("completionTime", s.CompletionTime, "may only be set once the Job is complete", !complete, mayReport),
		c.invalidIf("completionTime", s.CompletionTime, "must not be before `startTime`", moved, s.StartTime != nil,
			s.CompletionTime.Before(s.StartTime)),
		c.invalidIf("completionTime", s.CompletionTime, immutable, c.old.CompletionTime != nil, changed),
	)
}

func (c *jobChange) indexes() field.ErrorList {
	s, spec := c.now, &c.job.Spec
	completedChanged, failedChanged := s.CompletedIndexes != c.old.CompletedIndexes, !ptr.Equal(s.FailedIndexes,
		c.old.FailedIndexes)
	errs := join(
		c.invalidIf("completedIndexes", s.CompletedIndexes, onlyIndexed, completedChanged, s.CompletedIndexes != "",
			!isIndexed(spec)),
		c.invalidIf("failedIndexes", ptr.Deref(s.FailedIndexes, ""), "may only be set where `backoffLimitPerIndex` is",
			failedChanged, s.FailedIndexes != nil, spec.BackoffLimitPerIndex == nil),
	)
	if spec.Completions == nil {
		return errs
	}
	completed, err := parseIndexes(s.CompletedIndexes, *spec.Completions)
	if err != nil && completedChanged {
		errs = append(errs, field.Invalid(c.path.Child("completedIndexes"), s.CompletedIndexes, err.Error()))
	}
	if s.FailedIndexes == nil {
		return errs
	}
	failed, err := parseIndexes(*s.FailedIndexes, *spec.Completions)
	if err != nil && failedChanged && spec.BackoffLimitPerIndex != nil {
		errs = append(errs, field.Invalid(c.path.Child("failedIndexes"), *s.FailedIndexes, err.Error()))
	}
	if both, ok := common(completed, failed); ok && (completedChanged || failedChanged) {
		errs = append(
			errs,
			field.Invalid(c.path.Child("failedIndexes"), *s.FailedIndexes,
				fmt.Sprintf("index %d must not also be in `completedIndexes`", both)),
		)
	}
	return errs
}
