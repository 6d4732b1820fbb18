package cluster

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/features"
)

// Cache holds the objects of one kind as last seen in the API. It reports the changes of each
// object in order, after it has applied them itself. client.Informer implements it.
type Cache[T client.Object] interface {
	Get(namespace, name string) (T, bool)
	OnChange(f func(old, now T))
}

// PodCache is a cache of pods with an index by PodGroup.
type PodCache interface {
	Cache[*core.Pod]
	AddIndex(name string, keys func(*core.Pod) []string) error
	ByIndex(name, key string) []*core.Pod
}

// Caches has the caches of all kinds that placement depends on.
type Caches struct {
	// Features are the enabled features. Fields of disabled features are ignored.
	Features features.Set
	// ExpectsClaims means that plans may create claims that are generated for pods, because nothing
	// creates them before (claims.Expected). It requires the caches of templates.
	ExpectsClaims bool

	Pods       PodCache
	PodGroups  Cache[*scheduling.PodGroup]
	Composites Cache[*v1alpha3.CompositePodGroup] // nil if the feature is off
	Claims     Cache[*resource.ResourceClaim]
	Nodes      Cache[*corev1.Node]
	Namespaces Cache[*corev1.Namespace]
	Classes    Cache[*resourcev1.DeviceClass]
	Slices     Cache[*resourcev1.ResourceSlice]
	TaintRules Cache[*resourcev1.DeviceTaintRule] // nil if the API does not serve them

	// The caches of templates may be nil; then all templates count as existing.
	Templates        Cache[*resource.ResourceClaimTemplate]
	ClusterTemplates Cache[*resourcev1alpha3.ClusterResourceClaimTemplate]

	Budgets  Cache[*policyv1.PodDisruptionBudget] // nil if there are none
	Services Cache[*corev1.Service]               // nil if there are none

	// nil in tests without volumes; then pods that mount a claim wait.
	Volumes      Cache[*corev1.PersistentVolume]
	VolumeClaims Cache[*corev1.PersistentVolumeClaim]
	CSINodes     Cache[*storagev1.CSINode] // nil means unlimited volumes per node
}

// CachesOf returns the informers of these kinds.
func CachesOf(inf *client.Informers) Caches {
	return Caches{
		Pods: inf.Pods(), PodGroups: inf.PodGroups(), Claims: inf.ResourceClaims(), Nodes: inf.Nodes(),
		Namespaces: inf.Namespaces(), Classes: inf.DeviceClasses(), Slices: inf.ResourceSlices(),
		TaintRules: inf.DeviceTaintRules(),
		Templates:  inf.ResourceClaimTemplates(), ClusterTemplates: inf.ClusterResourceClaimTemplates(),
		Budgets: inf.PodDisruptionBudgets(), Services: inf.Services(),
		Volumes: inf.PersistentVolumes(), VolumeClaims: inf.PersistentVolumeClaims(), CSINodes: inf.CSINodes(),
	}
}
