package snapshot

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
)

// Objects has the objects by kind, in the version that all parts of allot use.
type Objects struct {
	Nodes      []*corev1.Node      `json:"nodes,omitempty"`
	Namespaces []*corev1.Namespace `json:"namespaces,omitempty"`
	Pods       []*core.Pod         `json:"pods,omitempty"`

	Workloads       []*scheduling.Workload        `json:"workloads,omitempty"`
	PodGroups       []*scheduling.PodGroup        `json:"podGroups,omitempty"`
	PriorityClasses []*schedulingv1.PriorityClass `json:"priorityClasses,omitempty"`
	// Composites are trees of PodGroups.
	Composites []*v1alpha3.CompositePodGroup `json:"compositePodGroups,omitempty"`

	Claims           []*resource.ResourceClaim                        `json:"resourceClaims,omitempty"`
	Templates        []*resource.ResourceClaimTemplate                `json:"resourceClaimTemplates,omitempty"`
	ClusterTemplates []*resourcev1alpha3.ClusterResourceClaimTemplate `json:"clusterResourceClaimTemplates,omitempty"`
	Classes          []*resourcev1.DeviceClass                        `json:"deviceClasses,omitempty"`
	Slices           []*resourcev1.ResourceSlice                      `json:"resourceSlices,omitempty"`
	TaintRules       []*resourcev1.DeviceTaintRule                    `json:"deviceTaintRules,omitempty"`

	Quotas      []*corev1.ResourceQuota         `json:"resourceQuotas,omitempty"`
	LimitRanges []*corev1.LimitRange            `json:"limitRanges,omitempty"`
	Budgets     []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets,omitempty"`
	Services    []*corev1.Service               `json:"services,omitempty"`

	Volumes      []*corev1.PersistentVolume      `json:"persistentVolumes,omitempty"`
	VolumeClaims []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims,omitempty"`
	CSINodes     []*storagev1.CSINode            `json:"csiNodes,omitempty"`

	// What creates pods, and creates them again when they are evicted.
	Jobs         []*batch.Job        `json:"jobs,omitempty"`
	Deployments  []*apps.Deployment  `json:"deployments,omitempty"`
	ReplicaSets  []*apps.ReplicaSet  `json:"replicaSets,omitempty"`
	StatefulSets []*apps.StatefulSet `json:"statefulSets,omitempty"`
	DaemonSets   []*apps.DaemonSet   `json:"daemonSets,omitempty"`
	// Events are about objects of the kinds above. They are history, and no decision depends on
	// them.
	Events []*corev1.Event `json:"events,omitempty"`
}

// lists returns the objects of each kind.
func (o *Objects) lists() []list {
	return []list{
		listOf[*corev1.Node]{&o.Nodes}, listOf[*corev1.Namespace]{&o.Namespaces}, listOf[*core.Pod]{&o.Pods},
		listOf[*scheduling.Workload]{&o.Workloads}, listOf[*scheduling.PodGroup]{&o.PodGroups},
		listOf[*schedulingv1.PriorityClass]{&o.PriorityClasses},
		listOf[*v1alpha3.CompositePodGroup]{&o.Composites},
		listOf[*resource.ResourceClaim]{&o.Claims}, listOf[*resource.ResourceClaimTemplate]{&o.Templates},
		listOf[*resourcev1alpha3.ClusterResourceClaimTemplate]{&o.ClusterTemplates},
		listOf[*resourcev1.DeviceClass]{&o.Classes}, listOf[*resourcev1.ResourceSlice]{&o.Slices},
		listOf[*resourcev1.DeviceTaintRule]{&o.TaintRules},
		listOf[*corev1.ResourceQuota]{&o.Quotas}, listOf[*corev1.LimitRange]{&o.LimitRanges},
		listOf[*policyv1.PodDisruptionBudget]{&o.Budgets}, listOf[*corev1.Service]{&o.Services},
		listOf[*corev1.PersistentVolume]{&o.Volumes}, listOf[*corev1.PersistentVolumeClaim]{&o.VolumeClaims},
		listOf[*storagev1.CSINode]{&o.CSINodes},
		listOf[*batch.Job]{&o.Jobs}, listOf[*apps.Deployment]{&o.Deployments}, listOf[*apps.ReplicaSet]{&o.ReplicaSets},
		listOf[*apps.StatefulSet]{&o.StatefulSets}, listOf[*apps.DaemonSet]{&o.DaemonSets},
		listOf[*corev1.Event]{&o.Events},
	}
}

// list has the objects of one kind.
type list interface {
	// holds reports whether an object is of this kind.
	holds(object client.Object) bool
	// put adds or replaces an object; it reports whether it is of this kind.
	put(object client.Object) bool
	// remove removes an object; it reports whether it was there.
	remove(object client.Object) bool
	sort()
	each(f func(client.Object))
}

type listOf[T client.Object] struct{ objects *[]T }

func (l listOf[T]) holds(object client.Object) bool {
	_, ok := object.(T)
	return ok
}

func (l listOf[T]) put(object client.Object) bool {
	obj, ok := object.(T)
	if !ok {
		return false
	}
	Prune(obj)
	at, found := l.find(obj)
	if found {
		(*l.objects)[at] = obj
	} else {
		*l.objects = slices.Insert(*l.objects, at, obj)
	}
	return true
}

func (l listOf[T]) remove(object client.Object) bool {
	obj, ok := object.(T)
	if !ok {
		return false
	}
	at, found := l.find(obj)
	if found {
		*l.objects = slices.Delete(*l.objects, at, at+1)
	}
	return found
}

// find returns the place of an object in the list, which is sorted.
func (l listOf[T]) find(object T) (int, bool) {
	objects := *l.objects
	// Servers list objects in this order, so that most are added at the end.
	if n := len(objects); n == 0 || compareObjects(objects[n-1], object) < 0 {
		return n, false
	}
	return slices.BinarySearchFunc(objects, object, compareObjects[T])
}

func (l listOf[T]) sort() { slices.SortStableFunc(*l.objects, compareObjects[T]) }

func (l listOf[T]) each(f func(client.Object)) {
	for _, object := range *l.objects {
		f(object)
	}
}

func compareStrings(a, b string) int { return strings.Compare(a, b) }
