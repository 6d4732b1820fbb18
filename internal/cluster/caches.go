package cluster

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/features"
)

// Cache holds the objects of one kind as the API last showed them, and tells of changes: in the order in which each
// object went through them, after it shows them itself. A client.Informer is one.
type Cache[T client.Object] interface {
	Get(namespace, name string) (T, bool)
	OnChange(f func(old, new T))
}

// PodCache can also find pods by their PodGroup.
type PodCache interface {
	Cache[*core.Pod]
	AddIndex(name string, keys func(*core.Pod) []string) error
	ByIndex(name, key string) []*core.Pod
}

// Caches are all kinds that placement depends on.
type Caches struct {
	// Features are those that are on; what belongs to others is not seen.
	Features features.Set

	Pods       PodCache
	PodGroups  Cache[*scheduling.PodGroup]
	Claims     Cache[*resource.ResourceClaim]
	Nodes      Cache[*corev1.Node]
	Namespaces Cache[*corev1.Namespace]
	Classes    Cache[*resourcev1.DeviceClass]
	Slices     Cache[*resourcev1.ResourceSlice]
	TaintRules Cache[*resourcev1.DeviceTaintRule] // nil: the API does not have them

	Budgets  Cache[*policyv1.PodDisruptionBudget] // nil: nobody has any
	Services Cache[*corev1.Service]               // nil: nobody has any

	// Nil in tests that have none; then a pod that mounts a claim waits.
	Volumes      Cache[*corev1.PersistentVolume]
	VolumeClaims Cache[*corev1.PersistentVolumeClaim]
	CSINodes     Cache[*storagev1.CSINode] // nil: any number of volumes can be attached to a node
}

// CachesOf are the informers of these kinds.
func CachesOf(inf *client.Informers) Caches {
	return Caches{
		Pods: inf.Pods(), PodGroups: inf.PodGroups(), Claims: inf.ResourceClaims(), Nodes: inf.Nodes(),
		Namespaces: inf.Namespaces(), Classes: inf.DeviceClasses(), Slices: inf.ResourceSlices(),
		TaintRules: inf.DeviceTaintRules(),
		Budgets:    inf.PodDisruptionBudgets(), Services: inf.Services(),
		Volumes: inf.PersistentVolumes(), VolumeClaims: inf.PersistentVolumeClaims(), CSINodes: inf.CSINodes(),
	}
}
