package cronjob

import (
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
)

var (
	kind    = batchv1.SchemeGroupVersion.WithKind("CronJob")
	jobKind = batchv1.SchemeGroupVersion.WithKind("Job")
)

// jobName returns the name of the Job for a time of the schedule, which has minutes at most.
func jobName(c *batch.CronJob, at time.Time) string {
	return fmt.Sprintf("%s-%d", c.Name, at.Unix()/60)
}

// newJob returns the Job for a time of the schedule.
func newJob(c *batch.CronJob, at time.Time) *batch.Job {
	template := c.Spec.JobTemplate.DeepCopy()
	annotations := maps.Clone(template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	// Decide has found the time zone.
	zone, err := time.LoadLocation(ptr.Deref(c.Spec.TimeZone, ""))
	if err != nil {
		zone = time.UTC
	}
	annotations[batchv1.CronJobScheduledTimestampAnnotation] = at.In(zone).Format(time.RFC3339)
	return &batch.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: jobName(c, at), Labels: template.Labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, kind)},
		},
		Spec: template.Spec,
	}
}

// reference returns the entry of status.active for a Job.
func reference(job *batch.Job) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: jobKind.GroupVersion().String(), Kind: jobKind.Kind,
		Namespace: job.Namespace, Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion,
	}
}
