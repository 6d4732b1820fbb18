package registry

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

func jobs() entry {
	return &kind[batch.Job, *batch.Job]{
		names: names{
			group: "batch", versions: v1, plural: "jobs", singular: "job",
			categories: []string{"all"},
		},
		newList:       func() runtime.Object { return &batch.JobList{} },
		defaults:      defaults.Job,
		printer:       printers.Job,
		class:         rbac.ReadWrite,
		spec:          func(j *batch.Job) any { return &j.Spec },
		status:        func(j *batch.Job) any { return &j.Status },
		generation:    true,
		orphans:       true,
		prepareCreate: func(_ context.Context, j *batch.Job) { generateSelector(j) },
		prepareUpdate: func(_ context.Context, j, old *batch.Job) {
			carryPodClaims(j.Spec.Template.Spec.ResourceClaims, old.Spec.Template.Spec.ResourceClaims)
		},
		validate:       validation.ValidateJob,
		validateUpdate: validation.ValidateJobUpdate,
		validateStatus: validation.ValidateJobStatusUpdate,
		warnings:       jobWarnings,
		wrap:           func(s *storage) rest.Storage { return &jobStorage{s} },
		fields: func(j *batch.Job) fields.Set {
			return fields.Set{"status.successful": strconv.Itoa(int(j.Status.Succeeded))}
		},
	}
}

// jobStorage warns clients that delete a Job that its pods stay by default, which is the case only
// in batch/v1.
type jobStorage struct {
	*storage
}

// Delete implements rest.GracefulDeleter.
func (s *jobStorage) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	warnOfOrphans(ctx, options)
	return s.storage.Delete(ctx, name, validate, options)
}

// DeleteCollection implements rest.CollectionDeleter.
func (s *jobStorage) DeleteCollection(
	ctx context.Context,
	validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions,
	list *internalversion.ListOptions,
) (runtime.Object, error) {
	warnOfOrphans(ctx, options)
	return s.storage.DeleteCollection(ctx, validate, options, list)
}

func warnOfOrphans(ctx context.Context, options *metav1.DeleteOptions) {
	if options != nil && options.PropagationPolicy == nil &&
		options.OrphanDependents == nil { //nolint:staticcheck // old clients set it
		warning.AddWarning(
			ctx, "",
			"the pods of a deleted Job stay by default: propagationPolicy=Background deletes them too, and Orphan confirms that they stay",
		)
	}
}

// generateSelector makes a new Job select its own pods and no others, unless its author has chosen
// the labels. Labels that the author set as well stay as they are, for validation to compare. The
// labels are changed in place, since the Job may have them too (defaults.Job).
func generateSelector(j *batch.Job) {
	if ptr.Deref(j.Spec.ManualSelector, false) {
		return
	}
	own := validation.GeneratedJobLabels(j)
	labels := j.Spec.Template.Labels
	if labels == nil {
		labels = make(map[string]string, len(own))
		j.Spec.Template.Labels = labels
	}
	for key, value := range own {
		if _, ok := labels[key]; !ok {
			labels[key] = value
		}
	}
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	if _, ok := j.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !ok {
		metav1.AddLabelToSelector(j.Spec.Selector, batchv1.ControllerUidLabel, own[batchv1.ControllerUidLabel])
	}
}

// Above these limits, the status of an Indexed Job may be too long to store.
const (
	manyCompletions = 100_000
	manyAtOnce      = 10_000
)

func jobWarnings(j, old *batch.Job) []string {
	var out []string
	if old == nil {
		out = hostNameWarnings(j.Name)
	} else if j.Generation == old.Generation {
		return nil
	}
	return append(out, indexWarnings("spec", &j.Spec)...)
}

// hostNameWarnings returns warnings for the name of a Job or CronJob.
func hostNameWarnings(name string) []string {
	faults := utilvalidation.IsDNS1123Label(name)
	if len(faults) == 0 {
		return nil
	}
	return []string{
		"metadata.name: the names and host names of the pods start with it, for which a DNS label is better: " +
			strings.Join(faults, ", "),
	}
}

// indexWarnings returns warnings for the spec of a Job.
func indexWarnings(path string, spec *batch.JobSpec) []string {
	indexed := ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
	if !indexed || ptr.Deref(spec.Completions, 0) <= manyCompletions || ptr.Deref(spec.Parallelism, 0) <= manyAtOnce {
		return nil
	}
	return []string{fmt.Sprintf("%s: with more than %d completions and a parallelism of more than %d, the indexes in "+
		"the status may become too many to store", path, manyCompletions, manyAtOnce)}
}
