package api

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
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
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	apps "github.com/allot-dev/allot/api/apps/v1"
	autoscaling "github.com/allot-dev/allot/api/autoscaling/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	resourcev1beta1 "github.com/allot-dev/allot/api/resource/v1beta1"
	resourcev1beta2 "github.com/allot-dev/allot/api/resource/v1beta2"
	schedulingv1alpha2 "github.com/allot-dev/allot/api/scheduling/v1alpha2"
	schedulingv1alpha3 "github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Scheme is the scheme of clients. It has no defaulting functions; a server creates its own with
// NewScheme and adds them. It is not modified after the start.
var Scheme = NewScheme()

// Codecs encodes and decodes the types in Scheme.
var Codecs = serializer.NewCodecFactory(Scheme)

// NewScheme returns a scheme with all served kinds. Each kind is also registered as an internal
// type, in its hub version.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"},
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	for _, g := range groups() {
		for _, version := range g.versions {
			metav1.AddToGroupVersion(scheme, version)
		}
		scheme.AddKnownTypes(g.hub, g.kinds...)
		scheme.AddKnownTypes(schema.GroupVersion{Group: g.hub.Group, Version: runtime.APIVersionInternal}, g.kinds...)
		utilruntime.Must(scheme.SetVersionPriority(g.versions...))
	}
	// v1alpha3 of resource.k8s.io has v1's fields in the kind that both have; v1alpha3 of
	// scheduling.k8s.io has v1beta1's. They are added after the hub, which is therefore the first
	// known version of each type.
	utilruntime.Must(resourcev1beta2.AddToScheme(scheme))
	utilruntime.Must(resourcev1beta1.AddToScheme(scheme))
	scheme.AddKnownTypes(resourcev1alpha3.SchemeGroupVersion, &resourcev1.DeviceTaintRule{},
		&resourcev1.DeviceTaintRuleList{})
	scheme.AddKnownTypes(schedulingv1alpha3.SchemeGroupVersion, workloadKinds()...)
	utilruntime.Must(schedulingv1alpha2.AddToScheme(scheme))
	utilruntime.Must(autoscaling.AddToScheme(scheme))
	utilruntime.Must(addEvents(scheme))
	return scheme
}

// Hubs returns the versions in which the components of allot use objects: one for each served API
// group, or several if the kinds of a group have different ones.
func Hubs() []schema.GroupVersion {
	var out []schema.GroupVersion
	for _, g := range groups() {
		out = append(out, g.hub)
	}
	return out
}

// group has the types that one hub version adds to the scheme.
type group struct {
	hub      schema.GroupVersion
	versions []schema.GroupVersion // all served versions of the API group, preferred first
	kinds    []runtime.Object
}

func groups() []group {
	resourceVersions := []schema.GroupVersion{
		resourcev1.SchemeGroupVersion, resourcev1beta2.SchemeGroupVersion, resourcev1beta1.SchemeGroupVersion,
		resourcev1alpha3.SchemeGroupVersion,
	}
	autoscalingVersions := []schema.GroupVersion{autoscalingv2.SchemeGroupVersion, autoscalingv1.SchemeGroupVersion}
	schedulingVersions := []schema.GroupVersion{
		schedulingv1.SchemeGroupVersion,
		schedulingv1beta1.SchemeGroupVersion,
		schedulingv1alpha3.SchemeGroupVersion,
		schedulingv1alpha2.SchemeGroupVersion,
	}
	return []group{
		{corev1.SchemeGroupVersion, []schema.GroupVersion{corev1.SchemeGroupVersion}, []runtime.Object{
			&core.Pod{}, &core.PodList{}, &corev1.Binding{}, &core.PodTemplate{}, &core.PodTemplateList{},
			&core.ReplicationController{}, &core.ReplicationControllerList{},
			&corev1.Namespace{}, &corev1.NamespaceList{}, &corev1.Node{}, &corev1.NodeList{},
			&corev1.Event{}, &corev1.EventList{}, &corev1.ConfigMap{}, &corev1.ConfigMapList{},
			&corev1.Secret{}, &corev1.SecretList{}, &corev1.ServiceAccount{}, &corev1.ServiceAccountList{},
			&corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolume{},
			&corev1.PersistentVolumeList{},
			&corev1.Service{}, &corev1.ServiceList{}, &corev1.LimitRange{}, &corev1.LimitRangeList{},
			&corev1.ResourceQuota{}, &corev1.ResourceQuotaList{},
			&corev1.Endpoints{}, &corev1.EndpointsList{}, //nolint:staticcheck // it is deprecated, and served by 1.37
			&corev1.PodLogOptions{}, &corev1.SerializedReference{},
		}},
		{
			admissionregistrationv1.SchemeGroupVersion,
			[]schema.GroupVersion{admissionregistrationv1.SchemeGroupVersion},
			[]runtime.Object{
				&admissionregistrationv1.MutatingWebhookConfiguration{},
				&admissionregistrationv1.MutatingWebhookConfigurationList{},
				&admissionregistrationv1.ValidatingWebhookConfiguration{},
				&admissionregistrationv1.ValidatingWebhookConfigurationList{},
				&admissionregistrationv1.MutatingAdmissionPolicy{}, &admissionregistrationv1.MutatingAdmissionPolicyList{},
				&admissionregistrationv1.MutatingAdmissionPolicyBinding{},
				&admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
				&admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyList{},
				&admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
				&admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
			},
		},
		{appsv1.SchemeGroupVersion, []schema.GroupVersion{appsv1.SchemeGroupVersion}, []runtime.Object{
			&apps.Deployment{}, &apps.DeploymentList{}, &apps.ReplicaSet{}, &apps.ReplicaSetList{},
			&apps.StatefulSet{}, &apps.StatefulSetList{}, &apps.DaemonSet{}, &apps.DaemonSetList{},
			&appsv1.ControllerRevision{}, &appsv1.ControllerRevisionList{},
		}},
		{autoscalingv1.SchemeGroupVersion, autoscalingVersions, []runtime.Object{
			&autoscalingv1.Scale{},
		}},
		{autoscalingv2.SchemeGroupVersion, autoscalingVersions, []runtime.Object{
			&autoscalingv2.HorizontalPodAutoscaler{}, &autoscalingv2.HorizontalPodAutoscalerList{},
		}},
		{batchv1.SchemeGroupVersion, []schema.GroupVersion{batchv1.SchemeGroupVersion}, []runtime.Object{
			&batch.Job{}, &batch.JobList{}, &batch.CronJob{}, &batch.CronJobList{},
		}},
		{certificatesv1.SchemeGroupVersion, []schema.GroupVersion{certificatesv1.SchemeGroupVersion}, []runtime.Object{
			&certificatesv1.CertificateSigningRequest{}, &certificatesv1.CertificateSigningRequestList{},
		}},
		{coordinationv1.SchemeGroupVersion, []schema.GroupVersion{coordinationv1.SchemeGroupVersion}, []runtime.Object{
			&coordinationv1.Lease{}, &coordinationv1.LeaseList{},
		}},
		{discoveryv1.SchemeGroupVersion, []schema.GroupVersion{discoveryv1.SchemeGroupVersion}, []runtime.Object{
			&discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{},
		}},
		{networkingv1.SchemeGroupVersion, []schema.GroupVersion{networkingv1.SchemeGroupVersion}, []runtime.Object{
			&networkingv1.IPAddress{}, &networkingv1.IPAddressList{}, &networkingv1.Ingress{}, &networkingv1.IngressList{},
			&networkingv1.IngressClass{}, &networkingv1.IngressClassList{}, &networkingv1.NetworkPolicy{},
			&networkingv1.NetworkPolicyList{},
		}},
		{nodev1.SchemeGroupVersion, []schema.GroupVersion{nodev1.SchemeGroupVersion}, []runtime.Object{
			&nodev1.RuntimeClass{}, &nodev1.RuntimeClassList{},
		}},
		{policyv1.SchemeGroupVersion, []schema.GroupVersion{policyv1.SchemeGroupVersion}, []runtime.Object{
			&policyv1.PodDisruptionBudget{}, &policyv1.PodDisruptionBudgetList{}, &policyv1.Eviction{},
		}},
		{rbacv1.SchemeGroupVersion, []schema.GroupVersion{rbacv1.SchemeGroupVersion}, []runtime.Object{
			&rbacv1.Role{}, &rbacv1.RoleList{}, &rbacv1.RoleBinding{}, &rbacv1.RoleBindingList{},
			&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBinding{}, &rbacv1.ClusterRoleBindingList{},
		}},
		{schedulingv1.SchemeGroupVersion, schedulingVersions, []runtime.Object{
			&schedulingv1.PriorityClass{}, &schedulingv1.PriorityClassList{},
		}},
		{schedulingv1beta1.SchemeGroupVersion, schedulingVersions, workloadKinds()},
		{schedulingv1alpha3.SchemeGroupVersion, schedulingVersions, []runtime.Object{
			&schedulingv1alpha3.CompositePodGroup{}, &schedulingv1alpha3.CompositePodGroupList{},
		}},
		{resourcev1.SchemeGroupVersion, resourceVersions, resourceKinds()},
		{storagev1.SchemeGroupVersion, []schema.GroupVersion{storagev1.SchemeGroupVersion}, []runtime.Object{
			&storagev1.CSIDriver{}, &storagev1.CSIDriverList{}, &storagev1.CSINode{}, &storagev1.CSINodeList{},
			&storagev1.CSIStorageCapacity{}, &storagev1.CSIStorageCapacityList{},
			&storagev1.StorageClass{}, &storagev1.StorageClassList{},
			&storagev1.VolumeAttachment{}, &storagev1.VolumeAttachmentList{},
		}},
		{
			placement.SchemeGroupVersion,
			[]schema.GroupVersion{placement.SchemeGroupVersion},
			[]runtime.Object{&placement.Placement{}},
		},
		{resourcev1alpha3.SchemeGroupVersion, resourceVersions, []runtime.Object{
			&resourcev1alpha3.ClusterResourceClaimTemplate{}, &resourcev1alpha3.ClusterResourceClaimTemplateList{},
			&upstreamv1alpha3.ResourcePoolStatusRequest{}, &upstreamv1alpha3.ResourcePoolStatusRequestList{},
		}},
	}
}

// workloadKinds returns the kinds of scheduling.k8s.io/v1beta1.
func workloadKinds() []runtime.Object {
	return []runtime.Object{
		&scheduling.PodGroup{},
		&scheduling.PodGroupList{},
		&scheduling.Workload{},
		&scheduling.WorkloadList{},
	}
}

// resourceKinds returns the kinds of resource.k8s.io/v1.
func resourceKinds() []runtime.Object {
	return []runtime.Object{
		&resource.ResourceClaim{}, &resource.ResourceClaimList{},
		&resource.ResourceClaimTemplate{}, &resource.ResourceClaimTemplateList{},
		&resourcev1.DeviceClass{}, &resourcev1.DeviceClassList{},
		&resourcev1.ResourceSlice{}, &resourcev1.ResourceSliceList{},
		&resourcev1.DeviceTaintRule{}, &resourcev1.DeviceTaintRuleList{},
	}
}
