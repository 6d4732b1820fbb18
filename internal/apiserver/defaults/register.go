package defaults

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	upstreamv1beta1 "k8s.io/api/resource/v1beta1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	resourcev1beta1 "github.com/allot-dev/allot/api/resource/v1beta1"
	schedulingv1alpha2 "github.com/allot-dev/allot/api/scheduling/v1alpha2"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Register adds the defaulting functions to a scheme.
func Register(scheme *runtime.Scheme) error {
	return register(scheme, time.Now)
}

// register takes the clock apart, since a device taint is stamped with the time
// at which it was first seen.
func register(scheme *runtime.Scheme, now func() time.Time) error {
	stamp := func() metav1.Time { return metav1.Time{Time: now().Truncate(time.Second)} }
	slice := func(s *resourcev1.ResourceSlice) { resourceSlice(s, stamp) }
	oldSlice := func(s *upstreamv1beta1.ResourceSlice) { resourceSliceV1beta1(s, stamp) }
	rule := func(r *resourcev1.DeviceTaintRule) { orNew(&r.Spec.Taint.TimeAdded, stamp()) }
	for _, add := range []func(*runtime.Scheme) error{
		one(Pod), many(func(l *core.PodList) []core.Pod { return l.Items }, Pod),
		one(Node), many(func(l *corev1.NodeList) []corev1.Node { return l.Items }, Node),
		one(Namespace), many(func(l *corev1.NamespaceList) []corev1.Namespace { return l.Items }, Namespace),
		one(Secret), many(func(l *corev1.SecretList) []corev1.Secret { return l.Items }, Secret),
		one(Deployment), many(func(l *apps.DeploymentList) []apps.Deployment { return l.Items }, Deployment),
		one(ReplicaSet), many(func(l *apps.ReplicaSetList) []apps.ReplicaSet { return l.Items }, ReplicaSet),
		one(StatefulSet), many(func(l *apps.StatefulSetList) []apps.StatefulSet { return l.Items }, StatefulSet),
		one(DaemonSet), many(func(l *apps.DaemonSetList) []apps.DaemonSet { return l.Items }, DaemonSet),
		one(Job), many(func(l *batch.JobList) []batch.Job { return l.Items }, Job),
		one(PersistentVolumeClaim),
		many(func(l *corev1.PersistentVolumeClaimList) []corev1.PersistentVolumeClaim { return l.Items }, PersistentVolumeClaim),
		one(Service), many(func(l *corev1.ServiceList) []corev1.Service { return l.Items }, Service),
		one(PersistentVolume), many(func(l *corev1.PersistentVolumeList) []corev1.PersistentVolume { return l.Items }, PersistentVolume),
		one(PriorityClass), many(func(l *schedulingv1.PriorityClassList) []schedulingv1.PriorityClass { return l.Items }, PriorityClass),
		one(PodGroup), many(func(l *scheduling.PodGroupList) []scheduling.PodGroup { return l.Items }, PodGroup),
		one(PodGroupV1alpha2), many(func(l *schedulingv1alpha2.PodGroupList) []schedulingv1alpha2.PodGroup { return l.Items }, PodGroupV1alpha2),
		one(ResourceClaim), many(func(l *resource.ResourceClaimList) []resource.ResourceClaim { return l.Items }, ResourceClaim),
		one(ResourceClaimTemplate),
		many(func(l *resource.ResourceClaimTemplateList) []resource.ResourceClaimTemplate { return l.Items }, ResourceClaimTemplate),
		one(ClusterResourceClaimTemplate),
		many(func(l *resourcev1alpha3.ClusterResourceClaimTemplateList) []resourcev1alpha3.ClusterResourceClaimTemplate {
			return l.Items
		}, ClusterResourceClaimTemplate),
		one(ResourceClaimV1beta1), many(func(l *resourcev1beta1.ResourceClaimList) []resourcev1beta1.ResourceClaim { return l.Items }, ResourceClaimV1beta1),
		one(ResourceClaimTemplateV1beta1),
		many(func(l *resourcev1beta1.ResourceClaimTemplateList) []resourcev1beta1.ResourceClaimTemplate {
			return l.Items
		}, ResourceClaimTemplateV1beta1),
		one(oldSlice), many(func(l *upstreamv1beta1.ResourceSliceList) []upstreamv1beta1.ResourceSlice { return l.Items }, oldSlice),
		one(rule), many(func(l *resourcev1.DeviceTaintRuleList) []resourcev1.DeviceTaintRule { return l.Items }, rule),
		one(ResourcePoolStatusRequest),
		many(func(l *upstreamv1alpha3.ResourcePoolStatusRequestList) []upstreamv1alpha3.ResourcePoolStatusRequest {
			return l.Items
		}, ResourcePoolStatusRequest),
		one(RoleBinding), many(func(l *rbacv1.RoleBindingList) []rbacv1.RoleBinding { return l.Items }, RoleBinding),
		one(ClusterRoleBinding), many(func(l *rbacv1.ClusterRoleBindingList) []rbacv1.ClusterRoleBinding { return l.Items }, ClusterRoleBinding),
		one(slice), many(func(l *resourcev1.ResourceSliceList) []resourcev1.ResourceSlice { return l.Items }, slice),
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}

// kind is a pointer to T that a scheme can hold.
type kind[T any] interface {
	*T
	runtime.Object
}

// one defaults a kind. A scheme that does not have it is an error, since a
// function for an unknown type would never be called.
func one[T any, P kind[T]](set func(*T)) func(*runtime.Scheme) error {
	return func(scheme *runtime.Scheme) error {
		obj := P(new(T))
		if _, _, err := scheme.ObjectKinds(obj); err != nil {
			return fmt.Errorf("defaults of %T: %w", obj, err)
		}
		scheme.AddTypeDefaultingFunc(obj, func(in any) { set((*T)(in.(P))) })
		return nil
	}
}

// many defaults the items of a list kind.
func many[L, T any, P kind[L]](items func(*L) []T, set func(*T)) func(*runtime.Scheme) error {
	return one[L, P](func(list *L) {
		for i := range items(list) {
			set(&items(list)[i])
		}
	})
}
