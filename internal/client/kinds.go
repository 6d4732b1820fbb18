package client

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// This file describes each kind that allot uses once: in which version and under which name it is
// served, and what its Go types are. The client of a Set and the cache of Informers follow from the
// description. A kind without a method of Informers is never cached.

var pods = kindOf[core.Pod, core.PodList](corev1.SchemeGroupVersion, "pods").writing("resourceClaimStatuses")

func (s *Set) Pods(namespace string) Client[*core.Pod, *core.PodList] {
	return pods.client(s, namespace)
}
func (i *Informers) Pods() *Informer[*core.Pod] { return pods.cache(i) }

var nodes = kindOf[corev1.Node, corev1.NodeList](corev1.SchemeGroupVersion, "nodes")

func (s *Set) Nodes() Client[*corev1.Node, *corev1.NodeList] { return nodes.client(s, "") }
func (i *Informers) Nodes() *Informer[*corev1.Node]          { return nodes.cache(i) }

var namespaces = kindOf[corev1.Namespace, corev1.NamespaceList](corev1.SchemeGroupVersion, "namespaces")

func (s *Set) Namespaces() Client[*corev1.Namespace, *corev1.NamespaceList] {
	return namespaces.client(s, "")
}
func (i *Informers) Namespaces() *Informer[*corev1.Namespace] { return namespaces.cache(i) }

var secrets = kindOf[corev1.Secret, corev1.SecretList](corev1.SchemeGroupVersion, "secrets").
	cachedIn(metav1.NamespaceSystem)

func (s *Set) Secrets(namespace string) Client[*corev1.Secret, *corev1.SecretList] {
	return secrets.client(s, namespace)
}
func (i *Informers) SystemSecrets() *Informer[*corev1.Secret] { return secrets.cache(i) }

// DefaultServiceAccount is the name of the ServiceAccount that each namespace has.
const DefaultServiceAccount = "default"

// RootCAConfigMap is the name of the ConfigMap that each namespace has.
const RootCAConfigMap = "kube-root-ca.crt"

var serviceAccounts = kindOf[corev1.ServiceAccount, corev1.ServiceAccountList](corev1.SchemeGroupVersion,
	"serviceaccounts").
	cachedNamed(DefaultServiceAccount)

func (s *Set) ServiceAccounts(namespace string) Client[*corev1.ServiceAccount, *corev1.ServiceAccountList] {
	return serviceAccounts.client(s, namespace)
}
func (i *Informers) DefaultServiceAccounts() *Informer[*corev1.ServiceAccount] {
	return serviceAccounts.cache(i)
}

var configMaps = kindOf[corev1.ConfigMap, corev1.ConfigMapList](corev1.SchemeGroupVersion, "configmaps").cachedNamed(
	RootCAConfigMap,
)

func (s *Set) ConfigMaps(namespace string) Client[*corev1.ConfigMap, *corev1.ConfigMapList] {
	return configMaps.client(s, namespace)
}
func (i *Informers) RootCAConfigMaps() *Informer[*corev1.ConfigMap] { return configMaps.cache(i) }

var resourceQuotas = kindOf[corev1.ResourceQuota, corev1.ResourceQuotaList](corev1.SchemeGroupVersion, "resourcequotas")

func (s *Set) ResourceQuotas(namespace string) Client[*corev1.ResourceQuota, *corev1.ResourceQuotaList] {
	return resourceQuotas.client(s, namespace)
}
func (i *Informers) ResourceQuotas() *Informer[*corev1.ResourceQuota] { return resourceQuotas.cache(i) }

var persistentVolumeClaims = kindOf[corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList](
	corev1.SchemeGroupVersion, "persistentvolumeclaims",
)

func (s *Set) PersistentVolumeClaims(
	namespace string,
) Client[*corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaimList] {
	return persistentVolumeClaims.client(s, namespace)
}
func (i *Informers) PersistentVolumeClaims() *Informer[*corev1.PersistentVolumeClaim] {
	return persistentVolumeClaims.cache(i)
}

var persistentVolumes = kindOf[corev1.PersistentVolume, corev1.PersistentVolumeList](corev1.SchemeGroupVersion,
	"persistentvolumes")

func (s *Set) PersistentVolumes() Client[*corev1.PersistentVolume, *corev1.PersistentVolumeList] {
	return persistentVolumes.client(s, "")
}
func (i *Informers) PersistentVolumes() *Informer[*corev1.PersistentVolume] {
	return persistentVolumes.cache(i)
}

var events = kindOf[corev1.Event, corev1.EventList](corev1.SchemeGroupVersion, "events")

func (s *Set) Events(namespace string) Client[*corev1.Event, *corev1.EventList] {
	return events.client(s, namespace)
}

var services = kindOf[corev1.Service, corev1.ServiceList](corev1.SchemeGroupVersion, "services")

func (s *Set) Services(namespace string) Client[*corev1.Service, *corev1.ServiceList] {
	return services.client(s, namespace)
}
func (i *Informers) Services() *Informer[*corev1.Service] { return services.cache(i) }

var endpoints = kindOf[legacyEndpoints, corev1.EndpointsList](corev1.SchemeGroupVersion, "endpoints")

// legacyEndpoints are deprecated, and Kubernetes 1.37 keeps them.
type legacyEndpoints = corev1.Endpoints //nolint:staticcheck // as the comment says

func (s *Set) Endpoints(namespace string) Client[*legacyEndpoints, *corev1.EndpointsList] {
	return endpoints.client(s, namespace)
}
func (i *Informers) Endpoints() *Informer[*legacyEndpoints] { return endpoints.cache(i) }

var endpointSlices = kindOf[discoveryv1.EndpointSlice, discoveryv1.EndpointSliceList](discoveryv1.SchemeGroupVersion,
	"endpointslices")

func (s *Set) EndpointSlices(
	namespace string,
) Client[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList] {
	return endpointSlices.client(s, namespace)
}
func (i *Informers) EndpointSlices() *Informer[*discoveryv1.EndpointSlice] {
	return endpointSlices.cache(i)
}

var replicationControllers = kindOf[core.ReplicationController, core.ReplicationControllerList](
	corev1.SchemeGroupVersion, "replicationcontrollers",
)

func (s *Set) ReplicationControllers(
	namespace string,
) Client[*core.ReplicationController, *core.ReplicationControllerList] {
	return replicationControllers.client(s, namespace)
}
func (i *Informers) ReplicationControllers() *Informer[*core.ReplicationController] {
	return replicationControllers.cache(i)
}

var deployments = kindOf[apps.Deployment, apps.DeploymentList](appsv1.SchemeGroupVersion, "deployments")

func (s *Set) Deployments(namespace string) Client[*apps.Deployment, *apps.DeploymentList] {
	return deployments.client(s, namespace)
}
func (i *Informers) Deployments() *Informer[*apps.Deployment] { return deployments.cache(i) }

var replicaSets = kindOf[apps.ReplicaSet, apps.ReplicaSetList](appsv1.SchemeGroupVersion, "replicasets")

func (s *Set) ReplicaSets(namespace string) Client[*apps.ReplicaSet, *apps.ReplicaSetList] {
	return replicaSets.client(s, namespace)
}
func (i *Informers) ReplicaSets() *Informer[*apps.ReplicaSet] { return replicaSets.cache(i) }

var statefulSets = kindOf[apps.StatefulSet, apps.StatefulSetList](appsv1.SchemeGroupVersion, "statefulsets")

func (s *Set) StatefulSets(namespace string) Client[*apps.StatefulSet, *apps.StatefulSetList] {
	return statefulSets.client(s, namespace)
}
func (i *Informers) StatefulSets() *Informer[*apps.StatefulSet] { return statefulSets.cache(i) }

var daemonSets = kindOf[apps.DaemonSet, apps.DaemonSetList](appsv1.SchemeGroupVersion, "daemonsets")

func (s *Set) DaemonSets(namespace string) Client[*apps.DaemonSet, *apps.DaemonSetList] {
	return daemonSets.client(s, namespace)
}
func (i *Informers) DaemonSets() *Informer[*apps.DaemonSet] { return daemonSets.cache(i) }

var controllerRevisions = kindOf[appsv1.ControllerRevision, appsv1.ControllerRevisionList](appsv1.SchemeGroupVersion,
	"controllerrevisions")

func (s *Set) ControllerRevisions(namespace string) Client[*appsv1.ControllerRevision, *appsv1.ControllerRevisionList] {
	return controllerRevisions.client(s, namespace)
}
func (i *Informers) ControllerRevisions() *Informer[*appsv1.ControllerRevision] {
	return controllerRevisions.cache(i)
}

var jobs = kindOf[batch.Job, batch.JobList](batchv1.SchemeGroupVersion, "jobs")

func (s *Set) Jobs(namespace string) Client[*batch.Job, *batch.JobList] {
	return jobs.client(s, namespace)
}
func (i *Informers) Jobs() *Informer[*batch.Job] { return jobs.cache(i) }

var cronJobs = kindOf[batch.CronJob, batch.CronJobList](batchv1.SchemeGroupVersion, "cronjobs")

func (s *Set) CronJobs(namespace string) Client[*batch.CronJob, *batch.CronJobList] {
	return cronJobs.client(s, namespace)
}
func (i *Informers) CronJobs() *Informer[*batch.CronJob] { return cronJobs.cache(i) }

var leases = kindOf[coordinationv1.Lease, coordinationv1.LeaseList](
	coordinationv1.SchemeGroupVersion, "leases",
).cachedIn(corev1.NamespaceNodeLease)

func (s *Set) Leases(namespace string) Client[*coordinationv1.Lease, *coordinationv1.LeaseList] {
	return leases.client(s, namespace)
}
func (i *Informers) NodeLeases() *Informer[*coordinationv1.Lease] { return leases.cache(i) }

var podDisruptionBudgets = kindOf[policyv1.PodDisruptionBudget, policyv1.PodDisruptionBudgetList](
	policyv1.SchemeGroupVersion, "poddisruptionbudgets",
)

func (s *Set) PodDisruptionBudgets(
	namespace string,
) Client[*policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudgetList] {
	return podDisruptionBudgets.client(s, namespace)
}
func (i *Informers) PodDisruptionBudgets() *Informer[*policyv1.PodDisruptionBudget] {
	return podDisruptionBudgets.cache(i)
}

var roles = kindOf[rbacv1.Role, rbacv1.RoleList](rbacv1.SchemeGroupVersion, "roles")

func (s *Set) Roles(namespace string) Client[*rbacv1.Role, *rbacv1.RoleList] {
	return roles.client(s, namespace)
}
func (i *Informers) Roles() *Informer[*rbacv1.Role] { return roles.cache(i) }

var roleBindings = kindOf[rbacv1.RoleBinding, rbacv1.RoleBindingList](rbacv1.SchemeGroupVersion, "rolebindings")

func (s *Set) RoleBindings(namespace string) Client[*rbacv1.RoleBinding, *rbacv1.RoleBindingList] {
	return roleBindings.client(s, namespace)
}
func (i *Informers) RoleBindings() *Informer[*rbacv1.RoleBinding] { return roleBindings.cache(i) }

var clusterRoles = kindOf[rbacv1.ClusterRole, rbacv1.ClusterRoleList](rbacv1.SchemeGroupVersion, "clusterroles")

func (s *Set) ClusterRoles() Client[*rbacv1.ClusterRole, *rbacv1.ClusterRoleList] {
	return clusterRoles.client(s, "")
}
func (i *Informers) ClusterRoles() *Informer[*rbacv1.ClusterRole] { return clusterRoles.cache(i) }

var clusterRoleBindings = kindOf[rbacv1.ClusterRoleBinding, rbacv1.ClusterRoleBindingList](rbacv1.SchemeGroupVersion,
	"clusterrolebindings")

func (s *Set) ClusterRoleBindings() Client[*rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBindingList] {
	return clusterRoleBindings.client(s, "")
}
func (i *Informers) ClusterRoleBindings() *Informer[*rbacv1.ClusterRoleBinding] {
	return clusterRoleBindings.cache(i)
}

var priorityClasses = kindOf[schedulingv1.PriorityClass, schedulingv1.PriorityClassList](
	schedulingv1.SchemeGroupVersion, "priorityclasses",
)

func (s *Set) PriorityClasses() Client[*schedulingv1.PriorityClass, *schedulingv1.PriorityClassList] {
	return priorityClasses.client(s, "")
}
func (i *Informers) PriorityClasses() *Informer[*schedulingv1.PriorityClass] {
	return priorityClasses.cache(i)
}

var podGroups = kindOf[scheduling.PodGroup, scheduling.PodGroupList](
	schedulingv1beta1.SchemeGroupVersion, "podgroups",
).writing("conditions", "resourceClaimStatuses")

func (s *Set) PodGroups(namespace string) Client[*scheduling.PodGroup, *scheduling.PodGroupList] {
	return podGroups.client(s, namespace)
}
func (i *Informers) PodGroups() *Informer[*scheduling.PodGroup] { return podGroups.cache(i) }

var compositePodGroups = kindOf[v1alpha3.CompositePodGroup, v1alpha3.CompositePodGroupList](schedulingv1alpha3.SchemeGroupVersion, "compositepodgroups")

func (s *Set) CompositePodGroups(namespace string) Client[*v1alpha3.CompositePodGroup, *v1alpha3.CompositePodGroupList] {
	return compositePodGroups.client(s, namespace)
}
func (i *Informers) CompositePodGroups() *Informer[*v1alpha3.CompositePodGroup] {
	return compositePodGroups.cache(i)
}

var workloads = kindOf[scheduling.Workload, scheduling.WorkloadList](schedulingv1beta1.SchemeGroupVersion, "workloads")

func (s *Set) Workloads(namespace string) Client[*scheduling.Workload, *scheduling.WorkloadList] {
	return workloads.client(s, namespace)
}
func (i *Informers) Workloads() *Informer[*scheduling.Workload] { return workloads.cache(i) }

var resourceClaims = kindOf[resource.ResourceClaim, resource.ResourceClaimList](
	resourcev1.SchemeGroupVersion, "resourceclaims",
).writing("allocation", "reservedFor", "devices")

func (s *Set) ResourceClaims(namespace string) Client[*resource.ResourceClaim, *resource.ResourceClaimList] {
	return resourceClaims.client(s, namespace)
}
func (i *Informers) ResourceClaims() *Informer[*resource.ResourceClaim] {
	return resourceClaims.cache(i)
}

var resourceClaimTemplates = kindOf[resource.ResourceClaimTemplate, resource.ResourceClaimTemplateList](
	resourcev1.SchemeGroupVersion, "resourceclaimtemplates",
)

func (s *Set) ResourceClaimTemplates(
	namespace string,
) Client[*resource.ResourceClaimTemplate, *resource.ResourceClaimTemplateList] {
	return resourceClaimTemplates.client(s, namespace)
}
func (i *Informers) ResourceClaimTemplates() *Informer[*resource.ResourceClaimTemplate] {
	return resourceClaimTemplates.cache(i)
}

var deviceClasses = kindOf[resourcev1.DeviceClass, resourcev1.DeviceClassList](resourcev1.SchemeGroupVersion,
	"deviceclasses")

func (s *Set) DeviceClasses() Client[*resourcev1.DeviceClass, *resourcev1.DeviceClassList] {
	return deviceClasses.client(s, "")
}
func (i *Informers) DeviceClasses() *Informer[*resourcev1.DeviceClass] { return deviceClasses.cache(i) }

var deviceTaintRules = kindOf[resourcev1.DeviceTaintRule, resourcev1.DeviceTaintRuleList](resourcev1.SchemeGroupVersion,
	"devicetaintrules")

func (s *Set) DeviceTaintRules() Client[*resourcev1.DeviceTaintRule, *resourcev1.DeviceTaintRuleList] {
	return deviceTaintRules.client(s, "")
}
func (i *Informers) DeviceTaintRules() *Informer[*resourcev1.DeviceTaintRule] {
	return deviceTaintRules.cache(i)
}

var resourceSlices = kindOf[resourcev1.ResourceSlice, resourcev1.ResourceSliceList](resourcev1.SchemeGroupVersion,
	"resourceslices")

func (s *Set) ResourceSlices() Client[*resourcev1.ResourceSlice, *resourcev1.ResourceSliceList] {
	return resourceSlices.client(s, "")
}
func (i *Informers) ResourceSlices() *Informer[*resourcev1.ResourceSlice] {
	return resourceSlices.cache(i)
}

var clusterResourceClaimTemplates = kindOf[resourcev1alpha3.ClusterResourceClaimTemplate, resourcev1alpha3.ClusterResourceClaimTemplateList](
	resourcev1alpha3.SchemeGroupVersion, "clusterresourceclaimtemplates",
)

func (s *Set) ClusterResourceClaimTemplates() Client[*resourcev1alpha3.ClusterResourceClaimTemplate, *resourcev1alpha3.ClusterResourceClaimTemplateList] {
	return clusterResourceClaimTemplates.client(s, "")
}
func (i *Informers) ClusterResourceClaimTemplates() *Informer[*resourcev1alpha3.ClusterResourceClaimTemplate] {
	return clusterResourceClaimTemplates.cache(i)
}

var resourcePoolStatusRequests = kindOf[upstreamv1alpha3.ResourcePoolStatusRequest, upstreamv1alpha3.ResourcePoolStatusRequestList](
	resourcev1alpha3.SchemeGroupVersion, "resourcepoolstatusrequests",
)

func (s *Set) ResourcePoolStatusRequests() Client[*upstreamv1alpha3.ResourcePoolStatusRequest, *upstreamv1alpha3.ResourcePoolStatusRequestList] {
	return resourcePoolStatusRequests.client(s, "")
}
func (i *Informers) ResourcePoolStatusRequests() *Informer[*upstreamv1alpha3.ResourcePoolStatusRequest] {
	return resourcePoolStatusRequests.cache(i)
}

var certificateSigningRequests = kindOf[certificatesv1.CertificateSigningRequest,
	certificatesv1.CertificateSigningRequestList](certificatesv1.SchemeGroupVersion, "certificatesigningrequests")

func (s *Set) CertificateSigningRequests() Client[*certificatesv1.CertificateSigningRequest,
	*certificatesv1.CertificateSigningRequestList] {
	return certificateSigningRequests.client(s, "")
}
func (i *Informers) CertificateSigningRequests() *Informer[*certificatesv1.CertificateSigningRequest] {
	return certificateSigningRequests.cache(i)
}

var csiNodes = kindOf[storagev1.CSINode, storagev1.CSINodeList](storagev1.SchemeGroupVersion, "csinodes")

func (s *Set) CSINodes() Client[*storagev1.CSINode, *storagev1.CSINodeList] {
	return csiNodes.client(s, "")
}
func (i *Informers) CSINodes() *Informer[*storagev1.CSINode] { return csiNodes.cache(i) }
