package registry

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
	"github.com/allot-dev/allot/internal/cron"
)

func cronJobs() entry {
	return &kind[batch.CronJob, *batch.CronJob]{
		names: names{
			group: "batch", versions: v1, plural: "cronjobs", singular: "cronjob",
			short: []string{"cj"}, categories: []string{"all"},
		},
		newList:    func() runtime.Object { return &batch.CronJobList{} },
		defaults:   defaults.CronJob,
		printer:    printers.CronJob,
		class:      rbac.ReadWrite,
		spec:       func(c *batch.CronJob) any { return &c.Spec },
		status:     func(c *batch.CronJob) any { return &c.Status },
		generation: true,
		prepareUpdate: func(_ context.Context, c, old *batch.CronJob) {
			now, before := &c.Spec.JobTemplate.Spec.Template.Spec, &old.Spec.JobTemplate.Spec.Template.Spec
			carryPodClaims(now.ResourceClaims, before.ResourceClaims)
		},
		validate:       validation.ValidateCronJob,
		validateUpdate: validation.ValidateCronJobUpdate,
		validateStatus: validation.ValidateCronJobStatusUpdate,
		warnings:       cronJobWarnings,
	}
}

func cronJobWarnings(c, old *batch.CronJob) []string {
	var out []string
	if old == nil {
		out = hostNameWarnings(c.Name)
	}
	if old == nil || c.Generation != old.Generation {
		out = append(out, indexWarnings("spec.jobTemplate.spec", &c.Spec.JobTemplate.Spec)...)
	}
	if old != nil && cron.HasZone(c.Spec.Schedule) {
		out = append(out, fmt.Sprintf("spec.schedule: %q has a time zone of its own; use `timeZone` instead",
			c.Spec.Schedule))
	}
	return out
}
