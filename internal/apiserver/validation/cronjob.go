package validation

import (
	"regexp"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/cron"
)

// maxCronJobName is the length of the longest name: those of the Jobs have a dash and ten digits
// more.
const maxCronJobName = validation.DNS1035LabelMaxLength - 11

// ValidateCronJob checks a new CronJob.
func ValidateCronJob(c *batch.CronJob) field.ErrorList {
	return join(
		metadata(&c.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		cronJobSpec(field.NewPath("spec"), &c.Spec, nil),
		check(len(c.Name) <= maxCronJobName, field.NewPath("metadata", "name"), c.Name,
			"must be no more than 52 characters"),
	)
}

// ValidateCronJobUpdate checks a change of a CronJob. The length of its name is not checked again.
func ValidateCronJobUpdate(c, old *batch.CronJob) field.ErrorList {
	return join(metadataUpdate(&c.ObjectMeta, &old.ObjectMeta), cronJobSpec(field.NewPath("spec"), &c.Spec, &old.Spec))
}

// ValidateCronJobStatusUpdate checks the metadata only, as Kubernetes does.
func ValidateCronJobStatusUpdate(c, old *batch.CronJob) field.ErrorList {
	return metadataUpdate(&c.ObjectMeta, &old.ObjectMeta)
}

func cronJobSpec(path *field.Path, spec, old *batch.CronJobSpec) field.ErrorList {
	var errs field.ErrorList
	if old == nil || !ptr.Equal(old.TimeZone, spec.TimeZone) {
		errs = timeZone(path.Child("timeZone"), spec.TimeZone)
	}
	return join(
		errs,
		schedule(path.Child("schedule"), spec, old),
		nonNegative(path.Child("startingDeadlineSeconds"), ptr.Deref(spec.StartingDeadlineSeconds, 0)),
		concurrencyPolicy(path.Child("concurrencyPolicy"), spec.ConcurrencyPolicy),
		jobsOfTemplate(path.Child("jobTemplate", "spec"), spec, old),
		nonNegative(path.Child("successfulJobsHistoryLimit"), ptr.Deref(spec.SuccessfulJobsHistoryLimit, 0)),
		nonNegative(path.Child("failedJobsHistoryLimit"), ptr.Deref(spec.FailedJobsHistoryLimit, 0)),
	)
}

// jobsOfTemplate checks the spec of the Jobs. The server generates their selectors.
func jobsOfTemplate(path *field.Path, spec, old *batch.CronJobSpec) field.ErrorList {
	now := &spec.JobTemplate.Spec
	var before *batch.JobSpec
	if old != nil {
		before = &old.JobTemplate.Spec
	}
	errs := jobSpec(path, now, before)
	if now.Selector != nil {
		errs = append(errs, field.Invalid(path.Child("selector"), now.Selector, "must be left out: it is generated"))
	}
	if ptr.Deref(now.ManualSelector, false) {
		errs = append(errs, field.NotSupported(path.Child("manualSelector"), true, []string{"nil", "false"}))
	}
	return errs
}

func concurrencyPolicy(path *field.Path, policy batchv1.ConcurrencyPolicy) field.ErrorList {
	if policy == "" {
		return errorList(field.Required(path, ""))
	}
	return supported(path, policy, batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)
}

// schedule checks the schedule. A time zone within it is permitted only if the stored schedule has
// one already, and only without spec.timeZone.
func schedule(path *field.Path, spec, old *batch.CronJobSpec) field.ErrorList {
	text := spec.Schedule
	if text == "" {
		return errorList(field.Required(path, ""))
	}
	var errs field.ErrorList
	if _, err := cron.Parse(text); err != nil {
		errs = append(errs, field.Invalid(path, text, err.Error()))
	}
	had := old != nil && cron.HasZone(old.Schedule)
	switch {
	case !cron.HasZone(text):
	case !had:
		errs = append(errs, field.Invalid(path, text, "must not have TZ or CRON_TZ: use the field timeZone"))
	case spec.TimeZone != nil:
		errs = append(errs, field.Invalid(path, text, "must not have TZ or CRON_TZ in addition to the field timeZone"))
	}
	return errs
}

// timeZonePart is a part of the name of a time zone, as the names of IANA are, with digits and plus
// signs for old ones.
var timeZonePart = regexp.MustCompile(`^[A-Za-z.\-_0-9+]{1,14}$`)

func timeZone(path *field.Path, zone *string) field.ErrorList {
	if zone == nil {
		return nil
	}
	name := *zone
	if name == "" {
		return errorList(field.Invalid(path, name, "must be left out or not be empty"))
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !timeZonePart.MatchString(part) {
			return errorList(field.Invalid(path, name, "unknown time zone "+name))
		}
	}
	errs := check(!strings.EqualFold(name, "Local"), path, name,
		"must be a time zone of https://www.iana.org/time-zones, which Local is not")
	if _, err := time.LoadLocation(name); err != nil {
		errs = append(errs, field.Invalid(path, name, err.Error()))
	}
	return errs
}
