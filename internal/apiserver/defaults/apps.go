package defaults

import (
	appsv1 "k8s.io/api/apps/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

// Deployment sets one replica, a rolling update by quarters, and the pod template.
func Deployment(deployment *apps.Deployment) {
	spec := &deployment.Spec
	orNew(&spec.Replicas, 1)
	orElse(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		orNew(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		orNew(&spec.Strategy.RollingUpdate.MaxUnavailable, percent("25%"))
		orNew(&spec.Strategy.RollingUpdate.MaxSurge, percent("25%"))
	}
	orNew(&spec.RevisionHistoryLimit, 10)
	orNew(&spec.ProgressDeadlineSeconds, 600)
	podSpec(&spec.Template.Spec)
}

// ReplicaSet sets one replica, and the pod template.
func ReplicaSet(set *apps.ReplicaSet) {
	orNew(&set.Spec.Replicas, 1)
	podSpec(&set.Spec.Template.Spec)
}
