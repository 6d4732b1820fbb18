package validation

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	upstreamv1beta1 "k8s.io/api/resource/v1beta1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	resourcev1beta1 "github.com/allot-dev/allot/api/resource/v1beta1"
	schedulingv1alpha2 "github.com/allot-dev/allot/api/scheduling/v1alpha2"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

type ruleset struct {
	create         func(obj runtime.Object) field.ErrorList
	update, status func(now, old runtime.Object) field.ErrorList
}

func rulesOf[P runtime.Object](create func(P) field.ErrorList, update, status func(now, old P) field.ErrorList) ruleset {
	wrap := func(f func(now, old P) field.ErrorList) func(now, old runtime.Object) field.ErrorList {
		if f == nil {
			return nil
		}
		return func(now, old runtime.Object) field.ErrorList { return f(now.(P), old.(P)) }
	}
	return ruleset{func(obj runtime.Object) field.ErrorList { return create(obj.(P)) }, wrap(update), wrap(status)}
}

func kinds() map[string]ruleset {
	return map[string]ruleset{
		"Pod":                          rulesOf(ValidatePod, ValidatePodUpdate, ValidatePodStatusUpdate),
		"Node":                         rulesOf(ValidateNode, ValidateNodeUpdate, ValidateNodeStatusUpdate),
		"Namespace":                    rulesOf(ValidateNamespace, ValidateNamespaceUpdate, ValidateNamespaceStatusUpdate),
		"Event":                        rulesOf(ValidateEvent, ValidateEventUpdate, nil),
		"ConfigMap":                    rulesOf(ValidateConfigMap, ValidateConfigMapUpdate, nil),
		"Secret":                       rulesOf(ValidateSecret, ValidateSecretUpdate, nil),
		"ServiceAccount":               rulesOf(ValidateServiceAccount, ValidateServiceAccountUpdate, nil),
		"Binding":                      rulesOf(ValidateBinding, nil, nil),
		"Lease":                        rulesOf(ValidateLease, ValidateLeaseUpdate, nil),
		"Deployment":                   rulesOf(ValidateDeployment, ValidateDeploymentUpdate, ValidateDeploymentStatusUpdate),
		"ReplicaSet":                   rulesOf(ValidateReplicaSet, ValidateReplicaSetUpdate, ValidateReplicaSetStatusUpdate),
		"StatefulSet":                  rulesOf(ValidateStatefulSet, ValidateStatefulSetUpdate, ValidateStatefulSetStatusUpdate),
		"DaemonSet":                    rulesOf(ValidateDaemonSet, ValidateDaemonSetUpdate, ValidateDaemonSetStatusUpdate),
		"ControllerRevision":           rulesOf(ValidateControllerRevision, ValidateControllerRevisionUpdate, nil),
		"Job":                          rulesOf(ValidateJob, ValidateJobUpdate, ValidateJobStatusUpdate),
		"PersistentVolumeClaim":        rulesOf(ValidatePersistentVolumeClaim, ValidatePersistentVolumeClaimUpdate, ValidatePersistentVolumeClaimStatusUpdate),
		"PersistentVolume":             rulesOf(ValidatePersistentVolume, ValidatePersistentVolumeUpdate, ValidatePersistentVolumeStatusUpdate),
		"Service":                      rulesOf(ValidateService, ValidateServiceUpdate, ValidateServiceStatusUpdate),
		"PodDisruptionBudget":          rulesOf(ValidatePodDisruptionBudget, ValidatePodDisruptionBudgetUpdate, ValidatePodDisruptionBudgetStatusUpdate),
		"Scale":                        rulesOf(ValidateScale, nil, nil),
		"PriorityClass":                rulesOf(ValidatePriorityClass, ValidatePriorityClassUpdate, nil),
		"Workload":                     rulesOf(ValidateWorkload, ValidateWorkloadUpdate, nil),
		"PodGroup":                     rulesOf(ValidatePodGroup, ValidatePodGroupUpdate, ValidatePodGroupStatusUpdate),
		"ResourceClaim":                rulesOf(ValidateResourceClaim, ValidateResourceClaimUpdate, ValidateResourceClaimStatusUpdate),
		"ResourceClaimTemplate":        rulesOf(ValidateResourceClaimTemplate, ValidateResourceClaimTemplateUpdate, nil),
		"ClusterResourceClaimTemplate": rulesOf(ValidateClusterResourceClaimTemplate, ValidateClusterResourceClaimTemplateUpdate, nil),
		"DeviceClass":                  rulesOf(ValidateDeviceClass, ValidateDeviceClassUpdate, nil),
		"DeviceTaintRule":              rulesOf(ValidateDeviceTaintRule, ValidateDeviceTaintRuleUpdate, ValidateDeviceTaintRuleStatusUpdate),
		"ResourcePoolStatusRequest":    rulesOf(ValidateResourcePoolStatusRequest, ValidateResourcePoolStatusRequestUpdate, ValidateResourcePoolStatusRequestStatusUpdate),
		"Role":                         rulesOf(ValidateRole, ValidateRoleUpdate, nil),
		"RoleBinding":                  rulesOf(ValidateRoleBinding, ValidateRoleBindingUpdate, nil),
		"ClusterRole":                  rulesOf(ValidateClusterRole, ValidateClusterRoleUpdate, nil),
		"ClusterRoleBinding":           rulesOf(ValidateClusterRoleBinding, ValidateClusterRoleBindingUpdate, nil),
		"ResourceSlice":                rulesOf(ValidateResourceSlice, ValidateResourceSliceUpdate, nil),
	}
}

func testScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	add := func(group, version string, objs ...runtime.Object) {
		scheme.AddKnownTypes(schema.GroupVersion{Group: group, Version: version}, objs...)
	}
	add("", "v1", &core.Pod{}, &core.PodList{}, &corev1.Node{}, &corev1.NodeList{}, &corev1.Namespace{}, &corev1.NamespaceList{},
		&corev1.Secret{}, &corev1.SecretList{}, &corev1.Event{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{}, &corev1.Binding{})
	add("coordination.k8s.io", "v1", &coordinationv1.Lease{})
	add("autoscaling", "v1", &autoscalingv1.Scale{})
	add("apps", "v1", &apps.Deployment{}, &apps.DeploymentList{}, &apps.ReplicaSet{}, &apps.ReplicaSetList{},
		&apps.StatefulSet{}, &apps.StatefulSetList{}, &apps.DaemonSet{}, &apps.DaemonSetList{}, &appsv1.ControllerRevision{})
	add("batch", "v1", &batch.Job{}, &batch.JobList{})
	add("", "v1", &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolume{}, &corev1.PersistentVolumeList{},
		&corev1.Service{}, &corev1.ServiceList{})
	add("policy", "v1", &policyv1.PodDisruptionBudget{})
	add("scheduling.k8s.io", "v1", &schedulingv1.PriorityClass{}, &schedulingv1.PriorityClassList{})
	add("scheduling.k8s.io", "v1beta1", &scheduling.PodGroup{}, &scheduling.PodGroupList{}, &scheduling.Workload{})
	add("scheduling.k8s.io", "v1alpha2", &schedulingv1alpha2.PodGroup{}, &schedulingv1alpha2.PodGroupList{})
	add("resource.k8s.io", "v1", &resource.ResourceClaim{}, &resource.ResourceClaimList{}, &resource.ResourceClaimTemplate{},
		&resource.ResourceClaimTemplateList{}, &resourcev1.ResourceSlice{}, &resourcev1.ResourceSliceList{}, &resourcev1.DeviceClass{},
		&resourcev1.DeviceTaintRule{}, &resourcev1.DeviceTaintRuleList{})
	add("resource.k8s.io", "v1beta1", &resourcev1beta1.ResourceClaim{}, &resourcev1beta1.ResourceClaimList{}, &resourcev1beta1.ResourceClaimTemplate{},
		&resourcev1beta1.ResourceClaimTemplateList{}, &upstreamv1beta1.ResourceSlice{}, &upstreamv1beta1.ResourceSliceList{})
	add("resource.k8s.io", "v1alpha3", &resourcev1alpha3.ClusterResourceClaimTemplate{}, &resourcev1alpha3.ClusterResourceClaimTemplateList{},
		&upstreamv1alpha3.ResourcePoolStatusRequest{}, &upstreamv1alpha3.ResourcePoolStatusRequestList{})
	add("rbac.authorization.k8s.io", "v1", &rbacv1.Role{}, &rbacv1.RoleBinding{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRole{},
		&rbacv1.ClusterRoleBinding{}, &rbacv1.ClusterRoleBindingList{})
	return scheme
}
