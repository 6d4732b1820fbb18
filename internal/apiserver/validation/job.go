package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// The names of labels from before labels had a domain.
const (
	LegacyJobNameLabel       = "job-name"
	LegacyControllerUIDLabel = "controller-uid"
)

// Limits of a Job, which keep the text of its status short.
const (
	maxIndexedParallelism  = 100_000
	maxFailedIndexes       = 100_000
	manyCompletions        = 100_000 // more than these require lower limits with a backoff limit per index
	maxParallelismOfMany   = 10_000
	maxFailedIndexesOfMany = 10_000
	maxManagedByLength     = 63
)

// ValidateJob checks a new Job, whose selector has been generated.
func ValidateJob(job *batch.Job) field.ErrorList {
	return join(
		metadata(&job.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		generatedSelector(job),
		jobSpec(field.NewPath("spec"), &job.Spec, nil),
		jobSelector(field.NewPath("spec"), &job.Spec),
		hostNamesOfIndexes(job),
	)
}

// ValidateJobUpdate checks a change of a Job. The pods of a Job are alike, so that most of its
// template is immutable.
func ValidateJobUpdate(job, old *batch.Job) field.ErrorList {
	path := field.NewPath("spec")
	now, before := &job.Spec, &old.Spec
	return join(
		metadataUpdate(&job.ObjectMeta, &old.ObjectMeta),
		jobSpec(path, now, before),
		jobSelector(path, now),
		jobPolicyUpdate(path.Child("scheduling", "schedulingPolicy"), now.Scheduling, before.Scheduling),
		completionsUpdate(path.Child("completions"), now, before),
		immutableField(path.Child("selector"), now.Selector, before.Selector),
		jobTemplateUpdate(path.Child("template"), job, old),
		immutableField(path.Child("completionMode"), now.CompletionMode, before.CompletionMode),
		immutableField(path.Child("podFailurePolicy"), now.PodFailurePolicy, before.PodFailurePolicy),
		immutableField(path.Child("backoffLimitPerIndex"), now.BackoffLimitPerIndex, before.BackoffLimitPerIndex),
		immutableField(path.Child("managedBy"), now.ManagedBy, before.ManagedBy),
		immutableField(path.Child("successPolicy"), now.SuccessPolicy, before.SuccessPolicy),
		hostNamesOfIndexes(job),
	)
}

// jobSpec checks the spec of a Job or of the Jobs of a CronJob, without the selector. old is nil if
// it is new.
func jobSpec(path *field.Path, spec, old *batch.JobSpec) field.ErrorList {
	var errs field.ErrorList
	for _, n := range []struct {
		field string
		value *int32
	}{
		{"parallelism", spec.Parallelism},
		{"completions", spec.Completions},
		{"backoffLimit", spec.BackoffLimit},
		{"backoffLimitPerIndex", spec.BackoffLimitPerIndex},
		{"maxFailedIndexes", spec.MaxFailedIndexes},
		{"ttlSecondsAfterFinished", spec.TTLSecondsAfterFinished},
	} {
		errs = append(errs, nonNegative(path.Child(n.field), ptr.Deref(n.value, 0))...)
	}
	return join(
		errs,
		nonNegative(path.Child("activeDeadlineSeconds"), ptr.Deref(spec.ActiveDeadlineSeconds, 0)),
		managedBy(path.Child("managedBy"), spec.ManagedBy),
		optionalSupported(path.Child("completionMode"), spec.CompletionMode, batchv1.NonIndexedCompletion,
			batchv1.IndexedCompletion),
		completionMode(path, spec),
		podReplacement(path.Child("podReplacementPolicy"), spec),
		podFailurePolicy(path.Child("podFailurePolicy"), spec),
		successPolicy(path.Child("successPolicy"), spec),
		jobScheduling(path.Child("scheduling"), spec, old),
		jobTemplate(path, spec),
	)
}

func isIndexed(spec *batch.JobSpec) bool {
	return ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

func completionMode(path *field.Path, spec *batch.JobSpec) field.ErrorList {
	var errs field.ErrorList
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Required(path.Child("backoffLimitPerIndex"), "needed with `maxFailedIndexes`"))
	}
	if isIndexed(spec) {
		return append(errs, indexedJob(path, spec)...)
	}
	if ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) != batchv1.NonIndexedCompletion {
		return errs // an unknown mode is reported elsewhere
	}
	for _, n := range []struct {
		field string
		value *int32
	}{{"backoffLimitPerIndex", spec.BackoffLimitPerIndex}, {"maxFailedIndexes", spec.MaxFailedIndexes}} {
		if n.value != nil {
			errs = append(errs, field.Invalid(path.Child(n.field), *n.value, onlyIndexed))
		}
	}
	return errs
}

const onlyIndexed = "may only be set where `completionMode` is Indexed"

func indexedJob(path *field.Path, spec *batch.JobSpec) field.ErrorList {
	parallelism, failed := path.Child("parallelism"), path.Child("maxFailedIndexes")
	errs := join(
		upTo(parallelism, spec.Parallelism, maxIndexedParallelism, " where `completionMode` is Indexed"),
		upTo(failed, spec.MaxFailedIndexes, maxFailedIndexes, ""),
	)
	if spec.Completions == nil {
		return append(errs, field.Required(path.Child("completions"), "needed where `completionMode` is Indexed"))
	}
	if n := spec.MaxFailedIndexes; n != nil && *n > *spec.Completions {
		errs = append(errs, field.Invalid(failed, *n, "must be less than or equal to `completions`"))
	}
	if *spec.Completions <= manyCompletions || spec.BackoffLimitPerIndex == nil {
		return errs
	}
	where := fmt.Sprintf(" where `completions` is greater than %d and `backoffLimitPerIndex` is set", manyCompletions)
	if spec.MaxFailedIndexes == nil {
		errs = append(errs, field.Required(failed, "needed"+where))
	}
	return append(errs, join(
		upTo(parallelism, spec.Parallelism, maxParallelismOfMany, where),
		upTo(failed, spec.MaxFailedIndexes, maxFailedIndexesOfMany, where),
	)...)
}

func upTo(path *field.Path, value *int32, limit int32, where string) field.ErrorList {
	if value == nil {
		return nil
	}
	return check(*value <= limit, path, *value, fmt.Sprintf("must be less than or equal to %d%s", limit, where))
}

func managedBy(path *field.Path, controller *string) field.ErrorList {
	if controller == nil {
		return nil
	}
	errs := validation.IsDomainPrefixedPath(path, *controller)
	if len(*controller) > maxManagedByLength {
		errs = append(errs, field.TooLong(path, "", maxManagedByLength))
	}
	return errs
}

// jobTemplate checks the template of pods that end by themselves.
func jobTemplate(path *field.Path, spec *batch.JobSpec) field.ErrorList {
	at, template := path.Child("template"), &spec.Template
	errs := join(
		templateMetadata(at.Child("metadata"), &template.ObjectMeta),
		podSpec(at.Child("spec"), groupedSpec(spec), nil),
		podAnnotations(at.Child("metadata", "annotations"), spec.Template.Annotations, &spec.Template.Spec),
		forbidden(at.Child("spec"), "may not be set in a pod template",
			member{"ephemeralContainers", len(template.Spec.EphemeralContainers) > 0}),
	)
	restart := at.Child("spec", "restartPolicy")
	switch policy := template.Spec.RestartPolicy; {
	case policy == corev1.RestartPolicyAlways:
		errs = append(
			errs,
			field.Required(restart,
				"valid values: "+quoted([]corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever})),
		)
	case policy == corev1.RestartPolicyOnFailure && spec.PodFailurePolicy != nil:
		errs = append(errs, field.Invalid(restart, policy, "must be Never where `podFailurePolicy` is set"))
	}
	return errs
}

// groupedSpec returns the pod spec as completed by the controller: if the Job has a scheduling
// configuration, its pods get a PodGroup, and may use its claims.
func groupedSpec(spec *batch.JobSpec) *core.PodSpec {
	out := spec.Template.Spec
	if spec.Scheduling != nil && out.SchedulingGroup == nil {
		name := "group-of-the-job"
		out.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
	}
	return &out
}

func jobSelector(path *field.Path, spec *batch.JobSpec) field.ErrorList {
	at := path.Child("selector")
	errs := labelSelector(at, spec.Selector)
	if spec.Selector == nil {
		errs = errorList(field.Required(at, ""))
	}
	parsed, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err == nil && !parsed.Matches(labels.Set(spec.Template.Labels)) {
		errs = append(
			errs,
			field.Invalid(path.Child("template", "metadata", "labels"), spec.Template.Labels,
				fmt.Sprintf("must match `selector` (%s)", parsed)),
		)
	}
	return errs
}

// generatedSelector checks that the labels by which a Job finds its pods are the generated ones,
// unless the author set the selector.
func generatedSelector(job *batch.Job) field.ErrorList {
	if ptr.Deref(job.Spec.ManualSelector, false) || job.Spec.Selector == nil {
		return nil
	}
	var errs field.ErrorList
	if job.UID == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "uid"), ""))
	}
	own := GeneratedJobLabels(job)
	at := field.NewPath("spec", "template", "metadata", "labels")
	for _, key := range []string{LegacyControllerUIDLabel, LegacyJobNameLabel, batchv1.ControllerUidLabel,
		batchv1.JobNameLabel} {
		value, ok := job.Spec.Template.Labels[key]
		switch {
		case !ok:
			errs = append(errs, field.Required(at.Key(key), "must be "+own[key]))
		case value != own[key]:
			errs = append(errs, field.Invalid(at.Key(key), value, "must be "+own[key]))
		}
	}
	parsed, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err == nil && !parsed.Matches(own) {
		errs = append(errs,
			field.Invalid(field.NewPath("spec", "selector"), parsed.String(), "must be left out, or `manualSelector` be true"))
	}
	return errs
}

// GeneratedJobLabels returns the labels of a Job's pods, with current and legacy names.
func GeneratedJobLabels(job *batch.Job) labels.Set {
	return labels.Set{
		batchv1.JobNameLabel:       job.Name,
		batchv1.ControllerUidLabel: string(job.UID),
		LegacyJobNameLabel:         job.Name,
		LegacyControllerUIDLabel:   string(job.UID),
	}
}

// hostNamesOfIndexes checks the host names of pods, which are the Job's name and the index.
func hostNamesOfIndexes(job *batch.Job) field.ErrorList {
	n := ptr.Deref(job.Spec.Completions, 0)
	if !isIndexed(&job.Spec) || n <= 0 {
		return nil
	}
	last := fmt.Sprintf("%s-%d", job.Name, n-1)
	return check(len(validation.IsDNS1123Label(last)) == 0, field.NewPath("metadata", "name"), job.Name,
		fmt.Sprintf("host names of pods such as %q would not be DNS labels", last))
}

// completionsUpdate allows scaling an Indexed Job together with its parallelism.
func completionsUpdate(path *field.Path, now, before *batch.JobSpec) field.ErrorList {
	if !isIndexed(now) {
		return immutableField(path, now.Completions, before.Completions)
	}
	if now.Completions == nil || equality.Semantic.DeepEqual(now.Completions, before.Completions) {
		return nil
	}
	return check(*now.Completions == ptr.Deref(now.Parallelism, 1), path, *now.Completions,
		"can only be changed together with `parallelism`, to the same number")
}

// jobTemplateUpdate allows a suspended Job without pods to change the scheduling directives and
// resources of its pods.
func jobTemplateUpdate(path *field.Path, job, old *batch.Job) field.ErrorList {
	now, before := &job.Spec.Template, &old.Spec.Template
	if !mayChangeTemplate(old) {
		return immutableField(path, now, before)
	}
	kept := before.DeepCopy()
	directives(&kept.Spec, &now.Spec)
	for _, list := range [][2][]corev1.Container{{kept.Spec.Containers, now.Spec.Containers},
		{kept.Spec.InitContainers, now.Spec.InitContainers}} {
		if len(list[0]) != len(list[1]) {
			continue
		}
		for i := range list[0] {
			if list[0][i].Name == list[1][i].Name {
				list[0][i].Resources = list[1][i].Resources
			}
		}
	}
	return immutableField(path.Child("spec"), now.Spec, kept.Spec)
}

func mayChangeTemplate(job *batch.Job) bool {
	idle := job.Status.StartTime == nil || isTrue(&job.Status, batchv1.JobSuspended)
	return ptr.Deref(job.Spec.Suspend, false) && idle && job.Status.Active == 0
}

// directives copies the scheduling directives from a pod's spec.
func directives(to, from *core.PodSpec) {
	switch {
	case from.Affinity == nil && to.Affinity != nil:
		to.Affinity.NodeAffinity = nil
		if *to.Affinity == (corev1.Affinity{}) {
			to.Affinity = nil
		}
	case from.Affinity != nil && to.Affinity == nil:
		to.Affinity = &corev1.Affinity{NodeAffinity: from.Affinity.NodeAffinity}
	case from.Affinity != nil:
		to.Affinity.NodeAffinity = from.Affinity.NodeAffinity
	}
	to.NodeSelector, to.Tolerations, to.SchedulingGates = from.NodeSelector, from.Tolerations, from.SchedulingGates
}
