package client

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Object is a pointer to an API object.
type Object interface {
	runtime.Object
	metav1.Object
}

// Set has a client for each kind that allot uses.
type Set struct {
	config  *rest.Config
	dialect Dialect
	codec   runtime.ParameterCodec
	rest    map[schema.GroupVersion]rest.Interface // by hub version
	taints  rest.Interface                         // for DeviceTaintRules
	storage rest.Interface                         // for kinds that allot's own server does not serve
}

// New returns a Set for allot's own server at cfg, with protobuf encoding.
func New(cfg *rest.Config) (*Set, error) { return NewFor(cfg, Dialect{}) }

// NewFor returns a Set for a server of this dialect.
func NewFor(cfg *rest.Config, dialect Dialect) (*Set, error) {
	if err := dialect.check(); err != nil {
		return nil, err
	}
	if cfg.UserAgent == "" { // shown in managed fields and audit logs
		cfg = rest.CopyConfig(cfg)
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make an HTTP client for %s: %w", cfg.Host, err)
	}
	scheme := dialect.scheme()
	set := &Set{config: cfg, dialect: dialect, codec: runtime.NewParameterCodec(scheme), rest: map[schema.GroupVersion]rest.Interface{}}
	dial := func(served, hub schema.GroupVersion) (rest.Interface, error) {
		c, err := rest.RESTClientForConfigAndClient(configFor(cfg, served, dialect.serializer(scheme, served, hub)), httpClient)
		if err != nil {
			return nil, fmt.Errorf("make a client for %s: %w", served, err)
		}
		return c, nil
	}
	for _, hub := range []schema.GroupVersion{
		corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, batchv1.SchemeGroupVersion, coordinationv1.SchemeGroupVersion,
		policyv1.SchemeGroupVersion, rbacv1.SchemeGroupVersion,
		resourcev1.SchemeGroupVersion, resourcev1alpha3.SchemeGroupVersion,
		schedulingv1.SchemeGroupVersion, schedulingv1beta1.SchemeGroupVersion,
	} {
		served := hub
		if hub == schedulingv1beta1.SchemeGroupVersion {
			served = dialect.groups()
		}
		if set.rest[hub], err = dial(served, hub); err != nil {
			return nil, err
		}
	}
	set.storage, err = rest.RESTClientForConfigAndClient(configFor(cfg, storagev1.SchemeGroupVersion, storageCodecs.WithoutConversion()), httpClient)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", storagev1.SchemeGroupVersion, err)
	}
	set.taints = set.rest[resourcev1.SchemeGroupVersion]
	if !dialect.TaintRules.Empty() {
		set.taints, err = dial(dialect.TaintRules, resourcev1.SchemeGroupVersion)
	}
	return set, err
}

func configFor(cfg *rest.Config, gv schema.GroupVersion, serializer runtime.NegotiatedSerializer) *rest.Config {
	out := rest.CopyConfig(cfg)
	out.GroupVersion = &gv
	out.APIPath = "/apis"
	if gv.Group == "" {
		out.APIPath = "/api"
	}
	out.NegotiatedSerializer = serializer
	out.ContentType = runtime.ContentTypeProtobuf
	out.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	// kinds of a CustomResourceDefinition have no protobuf encoding
	if gv.Group == allotv1alpha1.GroupName {
		out.ContentType, out.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	}
	return out
}

// Dialect returns the dialect of the server.
func (s *Set) Dialect() Dialect { return s.dialect }

// Config returns the configuration that the Set was created from.
func (s *Set) Config() *rest.Config { return s.config }

func clientFor[T Object, L runtime.Object](s *Set, gvr schema.GroupVersionResource, namespace string, newObject func() T, newList func() L) Client[T, L] {
	return clientOn(s, s.rest[gvr.GroupVersion()], gvr.Resource, namespace, newObject, newList)
}

func clientOn[T Object, L runtime.Object](s *Set, server rest.Interface, resource, namespace string, newObject func() T, newList func() L) Client[T, L] {
	typed := gentype.NewClientWithList(resource, server, s.codec, namespace, newObject, newList, gentype.PrefersProtobuf[T]())
	return Client[T, L]{ClientWithList: typed, newer: s.dialect.Newer}
}

// Pods is the client of core/v1 pods.
func (s *Set) Pods(namespace string) Client[*core.Pod, *core.PodList] {
	return clientFor(s, corev1.SchemeGroupVersion.WithResource("pods"), namespace, ptrTo[core.Pod], ptrTo[core.PodList]).writing("resourceClaimStatuses")
}

// Bind binds a pod to the node in binding.Target.
func (s *Set) Bind(ctx context.Context, binding *corev1.Binding) error {
	return s.rest[corev1.SchemeGroupVersion].Post().Namespace(binding.Namespace).Resource("pods").Name(binding.Name).
		SubResource("binding").Body(binding).Do(ctx).Error()
}

// Evict requests the eviction of a pod, subject to its disruption budgets.
func (s *Set) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return s.rest[corev1.SchemeGroupVersion].Post().Namespace(eviction.Namespace).Resource("pods").Name(eviction.Name).
		SubResource("eviction").Body(eviction).Do(ctx).Error()
}

// Nodes is the client of core/v1 nodes.
func (s *Set) Nodes() Client[*corev1.Node, *corev1.NodeList] {
	return clientFor(s, corev1.SchemeGroupVersion.WithResource("nodes"), "", ptrTo[corev1.Node], ptrTo[corev1.NodeList])
}

// Namespaces is the client of core/v1 namespaces.
func (s *Set) Namespaces() Client[*corev1.Namespace, *corev1.NamespaceList] {
	return clientFor(s, corev1.SchemeGroupVersion.WithResource("namespaces"), "", ptrTo[corev1.Namespace], ptrTo[corev1.NamespaceList])
}

// FinalizeNamespace replaces spec.finalizers of a namespace.
func (s *Set) FinalizeNamespace(ctx context.Context, namespace *corev1.Namespace) error {
	return s.rest[corev1.SchemeGroupVersion].Put().Resource("namespaces").Name(namespace.Name).
		SubResource("finalize").Body(namespace).Do(ctx).Error()
}

// PersistentVolumeClaims is the client of core/v1 persistentvolumeclaims.
func (s *Set) PersistentVolumeClaims(namespace string) Client[*corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaimList] {
	return clientFor(s, corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), namespace, ptrTo[corev1.PersistentVolumeClaim], ptrTo[corev1.PersistentVolumeClaimList])
}

// PersistentVolumes is the client of core/v1 persistentvolumes.
func (s *Set) PersistentVolumes() Client[*corev1.PersistentVolume, *corev1.PersistentVolumeList] {
	return clientFor(s, corev1.SchemeGroupVersion.WithResource("persistentvolumes"), "", ptrTo[corev1.PersistentVolume], ptrTo[corev1.PersistentVolumeList])
}

// Events is the client of core/v1 events.
func (s *Set) Events(namespace string) Client[*corev1.Event, *corev1.EventList] {
	return clientFor(s, corev1.SchemeGroupVersion.WithResource("events"), namespace, ptrTo[corev1.Event], ptrTo[corev1.EventList])
}

// Leases is the client of coordination/v1 leases.
func (s *Set) Leases(namespace string) Client[*coordinationv1.Lease, *coordinationv1.LeaseList] {
	return clientFor(s, coordinationv1.SchemeGroupVersion.WithResource("leases"), namespace, ptrTo[coordinationv1.Lease], ptrTo[coordinationv1.LeaseList])
}

// Deployments is the client of apps/v1 deployments.
func (s *Set) Deployments(namespace string) Client[*apps.Deployment, *apps.DeploymentList] {
	return clientFor(s, appsv1.SchemeGroupVersion.WithResource("deployments"), namespace, ptrTo[apps.Deployment], ptrTo[apps.DeploymentList])
}

// ReplicaSets is the client of apps/v1 replicasets.
func (s *Set) ReplicaSets(namespace string) Client[*apps.ReplicaSet, *apps.ReplicaSetList] {
	return clientFor(s, appsv1.SchemeGroupVersion.WithResource("replicasets"), namespace, ptrTo[apps.ReplicaSet], ptrTo[apps.ReplicaSetList])
}

// StatefulSets is the client of apps/v1 statefulsets.
func (s *Set) StatefulSets(namespace string) Client[*apps.StatefulSet, *apps.StatefulSetList] {
	return clientFor(s, appsv1.SchemeGroupVersion.WithResource("statefulsets"), namespace, ptrTo[apps.StatefulSet], ptrTo[apps.StatefulSetList])
}

// DaemonSets is the client of apps/v1 daemonsets.
func (s *Set) DaemonSets(namespace string) Client[*apps.DaemonSet, *apps.DaemonSetList] {
	return clientFor(s, appsv1.SchemeGroupVersion.WithResource("daemonsets"), namespace, ptrTo[apps.DaemonSet], ptrTo[apps.DaemonSetList])
}

// ControllerRevisions is the client of apps/v1 controllerrevisions.
func (s *Set) ControllerRevisions(namespace string) Client[*appsv1.ControllerRevision, *appsv1.ControllerRevisionList] {
	return clientFor(s, appsv1.SchemeGroupVersion.WithResource("controllerrevisions"), namespace, ptrTo[appsv1.ControllerRevision], ptrTo[appsv1.ControllerRevisionList])
}

// Jobs is the client of batch/v1 jobs.
func (s *Set) Jobs(namespace string) Client[*batch.Job, *batch.JobList] {
	return clientFor(s, batchv1.SchemeGroupVersion.WithResource("jobs"), namespace, ptrTo[batch.Job], ptrTo[batch.JobList])
}

// Services is the client of core/v1 services.
func (s *Set) Services(namespace string) Client[*corev1.Service, *corev1.ServiceList] {
	return clientFor(s, corev1.SchemeGroupVersion.WithResource("services"), namespace, ptrTo[corev1.Service], ptrTo[corev1.ServiceList])
}

// PodDisruptionBudgets is the client of policy/v1 poddisruptionbudgets.
func (s *Set) PodDisruptionBudgets(namespace string) Client[*policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudgetList] {
	return clientFor(s, policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), namespace, ptrTo[policyv1.PodDisruptionBudget], ptrTo[policyv1.PodDisruptionBudgetList])
}

// Roles is the client of rbac.authorization.k8s.io/v1 roles.
func (s *Set) Roles(namespace string) Client[*rbacv1.Role, *rbacv1.RoleList] {
	return clientFor(s, rbacv1.SchemeGroupVersion.WithResource("roles"), namespace, ptrTo[rbacv1.Role], ptrTo[rbacv1.RoleList])
}

// RoleBindings is the client of rbac.authorization.k8s.io/v1 rolebindings.
func (s *Set) RoleBindings(namespace string) Client[*rbacv1.RoleBinding, *rbacv1.RoleBindingList] {
	return clientFor(s, rbacv1.SchemeGroupVersion.WithResource("rolebindings"), namespace, ptrTo[rbacv1.RoleBinding], ptrTo[rbacv1.RoleBindingList])
}

// ClusterRoles is the client of rbac.authorization.k8s.io/v1 clusterroles.
func (s *Set) ClusterRoles() Client[*rbacv1.ClusterRole, *rbacv1.ClusterRoleList] {
	return clientFor(s, rbacv1.SchemeGroupVersion.WithResource("clusterroles"), "", ptrTo[rbacv1.ClusterRole], ptrTo[rbacv1.ClusterRoleList])
}

// ClusterRoleBindings is the client of rbac.authorization.k8s.io/v1 clusterrolebindings.
func (s *Set) ClusterRoleBindings() Client[*rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBindingList] {
	return clientFor(s, rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"), "", ptrTo[rbacv1.ClusterRoleBinding], ptrTo[rbacv1.ClusterRoleBindingList])
}

// PriorityClasses is the client of scheduling.k8s.io/v1 priorityclasses.
func (s *Set) PriorityClasses() Client[*schedulingv1.PriorityClass, *schedulingv1.PriorityClassList] {
	return clientFor(s, schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"), "", ptrTo[schedulingv1.PriorityClass], ptrTo[schedulingv1.PriorityClassList])
}

// PodGroups is the client of scheduling.k8s.io/v1beta1 podgroups.
func (s *Set) PodGroups(namespace string) Client[*scheduling.PodGroup, *scheduling.PodGroupList] {
	return clientFor(s, schedulingv1beta1.SchemeGroupVersion.WithResource("podgroups"), namespace, ptrTo[scheduling.PodGroup], ptrTo[scheduling.PodGroupList]).writing("conditions", "resourceClaimStatuses")
}

// Workloads is the client of scheduling.k8s.io/v1beta1 workloads.
func (s *Set) Workloads(namespace string) Client[*scheduling.Workload, *scheduling.WorkloadList] {
	return clientFor(s, schedulingv1beta1.SchemeGroupVersion.WithResource("workloads"), namespace, ptrTo[scheduling.Workload], ptrTo[scheduling.WorkloadList])
}

// ResourceClaims is the client of resource.k8s.io/v1 resourceclaims.
func (s *Set) ResourceClaims(namespace string) Client[*resource.ResourceClaim, *resource.ResourceClaimList] {
	return clientFor(s, resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), namespace, ptrTo[resource.ResourceClaim], ptrTo[resource.ResourceClaimList]).writing("allocation", "reservedFor", "devices")
}

// ResourceClaimTemplates is the client of resource.k8s.io/v1 resourceclaimtemplates.
func (s *Set) ResourceClaimTemplates(namespace string) Client[*resource.ResourceClaimTemplate, *resource.ResourceClaimTemplateList] {
	return clientFor(s, resourcev1.SchemeGroupVersion.WithResource("resourceclaimtemplates"), namespace, ptrTo[resource.ResourceClaimTemplate], ptrTo[resource.ResourceClaimTemplateList])
}

// ClusterResourceClaimTemplates is the client of resource.k8s.io/v1alpha3 clusterresourceclaimtemplates.
func (s *Set) ClusterResourceClaimTemplates() Client[*resourcev1alpha3.ClusterResourceClaimTemplate, *resourcev1alpha3.ClusterResourceClaimTemplateList] {
	return clientFor(s, resourcev1alpha3.SchemeGroupVersion.WithResource("clusterresourceclaimtemplates"), "", ptrTo[resourcev1alpha3.ClusterResourceClaimTemplate], ptrTo[resourcev1alpha3.ClusterResourceClaimTemplateList])
}

// ResourcePoolStatusRequests is the client of resource.k8s.io/v1alpha3 resourcepoolstatusrequests.
func (s *Set) ResourcePoolStatusRequests() Client[*upstreamv1alpha3.ResourcePoolStatusRequest, *upstreamv1alpha3.ResourcePoolStatusRequestList] {
	return clientFor(s, resourcev1alpha3.SchemeGroupVersion.WithResource("resourcepoolstatusrequests"), "", ptrTo[upstreamv1alpha3.ResourcePoolStatusRequest], ptrTo[upstreamv1alpha3.ResourcePoolStatusRequestList])
}

// DeviceClasses is the client of resource.k8s.io/v1 deviceclasses.
func (s *Set) DeviceClasses() Client[*resourcev1.DeviceClass, *resourcev1.DeviceClassList] {
	return clientFor(s, resourcev1.SchemeGroupVersion.WithResource("deviceclasses"), "", ptrTo[resourcev1.DeviceClass], ptrTo[resourcev1.DeviceClassList])
}

// DeviceTaintRules is the client of resource.k8s.io/v1 devicetaintrules.
func (s *Set) DeviceTaintRules() Client[*resourcev1.DeviceTaintRule, *resourcev1.DeviceTaintRuleList] {
	return clientOn(s, s.taints, "devicetaintrules", "", ptrTo[resourcev1.DeviceTaintRule], ptrTo[resourcev1.DeviceTaintRuleList])
}

// ResourceSlices is the client of resource.k8s.io/v1 resourceslices.
func (s *Set) ResourceSlices() Client[*resourcev1.ResourceSlice, *resourcev1.ResourceSliceList] {
	return clientFor(s, resourcev1.SchemeGroupVersion.WithResource("resourceslices"), "", ptrTo[resourcev1.ResourceSlice], ptrTo[resourcev1.ResourceSliceList])
}

func ptrTo[T any]() *T { return new(T) }
