package defaults

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

// Deployment sets one replica, a rolling update with 25%, and the defaults of the pod template.
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

// ReplicaSet sets one replica and the defaults of the pod template.
func ReplicaSet(set *apps.ReplicaSet) {
	orNew(&set.Spec.Replicas, 1)
	podSpec(&set.Spec.Template.Spec)
}

// StatefulSet sets one replica, ordered pod management, a rolling update of all pods, the retention
// of volume claims, and the defaults of the templates.
func StatefulSet(set *apps.StatefulSet) {
	spec := &set.Spec
	orElse(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	update := &spec.UpdateStrategy
	if update.Type == "" {
		update.Type = appsv1.RollingUpdateStatefulSetStrategyType
		orNew(&update.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if update.Type == appsv1.RollingUpdateStatefulSetStrategyType && update.RollingUpdate != nil {
		orNew(&update.RollingUpdate.Partition, 0)
		orNew(&update.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	orNew(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	orElse(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	orElse(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	orNew(&spec.Replicas, 1)
	orNew(&spec.RevisionHistoryLimit, 10)
	podSpec(&spec.Template.Spec)
	for i := range spec.VolumeClaimTemplates {
		claim := &spec.VolumeClaimTemplates[i]
		// The templates must be equal whether or not a manifest sets the type, and if it sets
		// another one.
		claim.APIVersion, claim.Kind = "v1", "PersistentVolumeClaim"
		PersistentVolumeClaim(claim)
	}
}

// DaemonSet sets a rolling update with one unavailable node, and the defaults of the pod template.
func DaemonSet(set *apps.DaemonSet) {
	update := &set.Spec.UpdateStrategy
	orElse(&update.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if update.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		orNew(&update.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		orNew(&update.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	if rolling := update.RollingUpdate; rolling != nil { // with OnDelete too
		orNew(&rolling.MaxUnavailable, intstr.FromInt32(0))
		orNew(&rolling.MaxSurge, intstr.FromInt32(0))
	}
	orNew(&set.Spec.RevisionHistoryLimit, 10)
	podSpec(&set.Spec.Template.Spec)
}
