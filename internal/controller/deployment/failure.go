package deployment

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

const reasonCreateError = "ReplicaSetCreateError"

// CreateFailed returns d with the condition that its new ReplicaSet could not be created. changed
// is false if d has the condition already, or does not report progress.
func CreateFailed(d *apps.Deployment, message string, now time.Time) (failed *apps.Deployment, changed bool) {
	r := rollout{d: d}
	if c := condition(&d.Status, appsv1.DeploymentProgressing); !r.hasDeadline() ||
		c != nil && c.Reason == reasonCreateError {
		return d, false
	}
	copied := *d
	copied.Status.Conditions = slices.Clone(d.Status.Conditions)
	setCondition(&copied.Status,
		newCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonCreateError, message, now))
	return &copied, true
}

// Collided returns d with an incremented collision count, which gives its template another hash.
func Collided(d *apps.Deployment) *apps.Deployment {
	copied := *d
	count := int32(1)
	if d.Status.CollisionCount != nil {
		count += *d.Status.CollisionCount
	}
	copied.Status.CollisionCount = &count
	return &copied
}
