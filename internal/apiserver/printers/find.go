package printers

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// find gives the printer of a kind that shows more than name and age.
func find(kind schema.GroupKind) (printer, bool) {
	switch kind {
	case schema.GroupKind{Kind: "Pod"}:
		return podPrinter(), true
	case schema.GroupKind{Kind: "Node"}:
		return nodePrinter(), true
	case schema.GroupKind{Kind: "Namespace"}:
		return namespacePrinter(), true
	case schema.GroupKind{Kind: "Event"}:
		return eventPrinter(), true
	case schema.GroupKind{Kind: "ConfigMap"}:
		return configMapPrinter(), true
	case schema.GroupKind{Kind: "Secret"}:
		return secretPrinter(), true
	case schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}:
		return leasePrinter(), true
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return deploymentPrinter(), true
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		return replicaSetPrinter(), true
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return statefulSetPrinter(), true
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		return daemonSetPrinter(), true
	case schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}:
		return controllerRevisionPrinter(), true
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return jobPrinter(), true
	case schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}:
		return podDisruptionBudgetPrinter(), true
	case schema.GroupKind{Kind: "Service"}:
		return servicePrinter(), true
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return persistentVolumeClaimPrinter(), true
	case schema.GroupKind{Kind: "PersistentVolume"}:
		return persistentVolumePrinter(), true
	case schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:
		return priorityClassPrinter(), true
	case schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PodGroup"}:
		return podGroupPrinter(), true
	case schema.GroupKind{Group: "scheduling.k8s.io", Kind: "Workload"}:
		return workloadPrinter(), true
	case schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaim"}:
		return resourceClaimPrinter(), true
	case schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceSlice"}:
		return resourceSlicePrinter(), true
	case schema.GroupKind{Group: "resource.k8s.io", Kind: "DeviceTaintRule"}:
		return deviceTaintRulePrinter(), true
	case schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourcePoolStatusRequest"}:
		return resourcePoolStatusRequestPrinter(), true
	case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "Role"}:
		return rolePrinter(), true
	case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:
		return clusterRolePrinter(), true
	case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:
		return roleBindingPrinter(), true
	case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:
		return clusterRoleBindingPrinter(), true
	}
	return printer{}, false
}
