package client

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/cache"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Informers holds one informer per requested kind. Request all kinds, add indexes and handlers,
// then call Start.
type Informers struct {
	set *Set

	mu      sync.Mutex // guards the fields below
	kinds   map[string]any
	absent  map[string]bool
	shared  []cache.SharedIndexInformer
	synced  []cache.InformerSynced // one for each of shared
	started int
	running sync.WaitGroup
}

// NewInformers returns Informers without any informer.
func NewInformers(set *Set) *Informers {
	return &Informers{set: set, kinds: map[string]any{}, absent: map[string]bool{"csinodes": true}}
}

// With adds kinds that the server serves but allot's own server does not. It must be called before
// any kind is requested.
func (f *Informers) With(kinds ...string) *Informers {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, kind := range kinds {
		delete(f.absent, kind)
	}
	return f
}

// Without removes kinds that the server does not serve: their caches stay empty and count as
// synced. It must be called before any kind is requested.
func (f *Informers) Without(kinds ...string) *Informers {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, kind := range kinds {
		f.absent[kind] = true
	}
	return f
}

// Has reports whether the server serves a kind.
func (f *Informers) Has(kind string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.absent[kind]
}

// Kinds returns the requested kinds that the server serves, sorted.
func (f *Informers) Kinds() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		if !f.absent[kind] {
			out = append(out, kind)
		}
	}
	return out
}

// Start runs the informers requested since the last call, until ctx ends.
func (f *Informers) Start(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, informer := range f.shared[f.started:] {
		f.running.Go(func() { informer.RunWithContext(ctx) })
	}
	f.started = len(f.shared)
}

// WaitForSync waits until all started informers and their handlers have processed the first list.
func (f *Informers) WaitForSync(ctx context.Context) error {
	f.mu.Lock()
	synced := slices.Clone(f.synced[:f.started])
	f.mu.Unlock()
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.Join(errors.New("stopped before the caches were filled"), ctx.Err())
	}
	return nil
}

// Wait waits until all informers have stopped, after the context of Start has ended.
func (f *Informers) Wait() { f.running.Wait() }

func informerFor[T Object](f *Informers, kind string, make func() *Informer[T]) *Informer[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i, ok := f.kinds[kind]; ok {
		return i.(*Informer[T])
	}
	i := make()
	f.kinds[kind] = i
	if f.absent[kind] {
		i.absent = true
		return i
	}
	f.shared = append(f.shared, i.shared)
	f.synced = append(f.synced, i.HasSynced)
	return i
}

// Pods is the cache of pods.
func (f *Informers) Pods() *Informer[*core.Pod] {
	return informerFor(f, "pods", func() *Informer[*core.Pod] { return newInformer(f.set.Pods(""), &core.Pod{}) })
}

// Nodes is the cache of nodes.
func (f *Informers) Nodes() *Informer[*corev1.Node] {
	return informerFor(f, "nodes", func() *Informer[*corev1.Node] { return newInformer(f.set.Nodes(), &corev1.Node{}) })
}

// NodeLeases is the cache of the leases of nodes.
func (f *Informers) NodeLeases() *Informer[*coordinationv1.Lease] {
	return informerFor(f, "leases", func() *Informer[*coordinationv1.Lease] {
		return newInformer(f.set.Leases(corev1.NamespaceNodeLease), &coordinationv1.Lease{})
	})
}

// Namespaces is the cache of namespaces.
func (f *Informers) Namespaces() *Informer[*corev1.Namespace] {
	return informerFor(f, "namespaces", func() *Informer[*corev1.Namespace] {
		return newInformer(f.set.Namespaces(), &corev1.Namespace{})
	})
}

// Deployments is the cache of deployments.
func (f *Informers) Deployments() *Informer[*apps.Deployment] {
	return informerFor(f, "deployments", func() *Informer[*apps.Deployment] {
		return newInformer(f.set.Deployments(""), &apps.Deployment{})
	})
}

// ReplicaSets is the cache of replica sets.
func (f *Informers) ReplicaSets() *Informer[*apps.ReplicaSet] {
	return informerFor(f, "replicasets", func() *Informer[*apps.ReplicaSet] {
		return newInformer(f.set.ReplicaSets(""), &apps.ReplicaSet{})
	})
}

// StatefulSets is the cache of stateful sets.
func (f *Informers) StatefulSets() *Informer[*apps.StatefulSet] {
	return informerFor(f, "statefulsets", func() *Informer[*apps.StatefulSet] {
		return newInformer(f.set.StatefulSets(""), &apps.StatefulSet{})
	})
}

// DaemonSets is the cache of daemon sets.
func (f *Informers) DaemonSets() *Informer[*apps.DaemonSet] {
	return informerFor(f, "daemonsets", func() *Informer[*apps.DaemonSet] {
		return newInformer(f.set.DaemonSets(""), &apps.DaemonSet{})
	})
}

// ControllerRevisions is the cache of controller revisions.
func (f *Informers) ControllerRevisions() *Informer[*appsv1.ControllerRevision] {
	return informerFor(f, "controllerrevisions", func() *Informer[*appsv1.ControllerRevision] {
		return newInformer(f.set.ControllerRevisions(""), &appsv1.ControllerRevision{})
	})
}

// Jobs is the cache of jobs.
func (f *Informers) Jobs() *Informer[*batch.Job] {
	return informerFor(f, "jobs", func() *Informer[*batch.Job] {
		return newInformer(f.set.Jobs(""), &batch.Job{})
	})
}

// PodDisruptionBudgets is the cache of disruption budgets.
func (f *Informers) PodDisruptionBudgets() *Informer[*policyv1.PodDisruptionBudget] {
	return informerFor(f, "poddisruptionbudgets", func() *Informer[*policyv1.PodDisruptionBudget] {
		return newInformer(f.set.PodDisruptionBudgets(""), &policyv1.PodDisruptionBudget{})
	})
}

// PersistentVolumeClaims is the cache of volume claims.
func (f *Informers) PersistentVolumeClaims() *Informer[*corev1.PersistentVolumeClaim] {
	return informerFor(f, "persistentvolumeclaims", func() *Informer[*corev1.PersistentVolumeClaim] {
		return newInformer(f.set.PersistentVolumeClaims(""), &corev1.PersistentVolumeClaim{})
	})
}

// PersistentVolumes is the cache of volumes.
func (f *Informers) PersistentVolumes() *Informer[*corev1.PersistentVolume] {
	return informerFor(f, "persistentvolumes", func() *Informer[*corev1.PersistentVolume] {
		return newInformer(f.set.PersistentVolumes(), &corev1.PersistentVolume{})
	})
}

// Services is the cache of services.
func (f *Informers) Services() *Informer[*corev1.Service] {
	return informerFor(f, "services", func() *Informer[*corev1.Service] {
		return newInformer(f.set.Services(""), &corev1.Service{})
	})
}

// CSINodes is the cache of CSINodes.
func (f *Informers) CSINodes() *Informer[*storagev1.CSINode] {
	return informerFor(f, "csinodes", func() *Informer[*storagev1.CSINode] {
		return newInformer(f.set.CSINodes(), &storagev1.CSINode{})
	})
}

// Roles is the cache of roles.
func (f *Informers) Roles() *Informer[*rbacv1.Role] {
	return informerFor(f, "roles", func() *Informer[*rbacv1.Role] {
		return newInformer(f.set.Roles(""), &rbacv1.Role{})
	})
}

// RoleBindings is the cache of role bindings.
func (f *Informers) RoleBindings() *Informer[*rbacv1.RoleBinding] {
	return informerFor(f, "rolebindings", func() *Informer[*rbacv1.RoleBinding] {
		return newInformer(f.set.RoleBindings(""), &rbacv1.RoleBinding{})
	})
}

// ClusterRoles is the cache of cluster roles.
func (f *Informers) ClusterRoles() *Informer[*rbacv1.ClusterRole] {
	return informerFor(f, "clusterroles", func() *Informer[*rbacv1.ClusterRole] {
		return newInformer(f.set.ClusterRoles(), &rbacv1.ClusterRole{})
	})
}

// ClusterRoleBindings is the cache of cluster role bindings.
func (f *Informers) ClusterRoleBindings() *Informer[*rbacv1.ClusterRoleBinding] {
	return informerFor(f, "clusterrolebindings", func() *Informer[*rbacv1.ClusterRoleBinding] {
		return newInformer(f.set.ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{})
	})
}

// PriorityClasses is the cache of priority classes.
func (f *Informers) PriorityClasses() *Informer[*schedulingv1.PriorityClass] {
	return informerFor(f, "priorityclasses", func() *Informer[*schedulingv1.PriorityClass] {
		return newInformer(f.set.PriorityClasses(), &schedulingv1.PriorityClass{})
	})
}

// Workloads is the cache of Workloads.
func (f *Informers) Workloads() *Informer[*scheduling.Workload] {
	return informerFor(f, "workloads", func() *Informer[*scheduling.Workload] {
		return newInformer(f.set.Workloads(""), &scheduling.Workload{})
	})
}

// PodGroups is the cache of PodGroups.
func (f *Informers) PodGroups() *Informer[*scheduling.PodGroup] {
	return informerFor(f, "podgroups", func() *Informer[*scheduling.PodGroup] {
		return newInformer(f.set.PodGroups(""), &scheduling.PodGroup{})
	})
}

// ResourceClaims is the cache of claims.
func (f *Informers) ResourceClaims() *Informer[*resource.ResourceClaim] {
	return informerFor(f, "resourceclaims", func() *Informer[*resource.ResourceClaim] {
		return newInformer(f.set.ResourceClaims(""), &resource.ResourceClaim{})
	})
}

// ResourceClaimTemplates is the cache of claim templates.
func (f *Informers) ResourceClaimTemplates() *Informer[*resource.ResourceClaimTemplate] {
	return informerFor(f, "resourceclaimtemplates", func() *Informer[*resource.ResourceClaimTemplate] {
		return newInformer(f.set.ResourceClaimTemplates(""), &resource.ResourceClaimTemplate{})
	})
}

// ClusterResourceClaimTemplates is the cache of cluster-wide claim templates.
func (f *Informers) ClusterResourceClaimTemplates() *Informer[*resourcev1alpha3.ClusterResourceClaimTemplate] {
	return informerFor(f, "clusterresourceclaimtemplates", func() *Informer[*resourcev1alpha3.ClusterResourceClaimTemplate] {
		return newInformer(f.set.ClusterResourceClaimTemplates(), &resourcev1alpha3.ClusterResourceClaimTemplate{})
	})
}

// DeviceClasses is the cache of device classes.
func (f *Informers) DeviceClasses() *Informer[*resourcev1.DeviceClass] {
	return informerFor(f, "deviceclasses", func() *Informer[*resourcev1.DeviceClass] {
		return newInformer(f.set.DeviceClasses(), &resourcev1.DeviceClass{})
	})
}

// ResourceSlices is the cache of resource slices.
func (f *Informers) ResourceSlices() *Informer[*resourcev1.ResourceSlice] {
	return informerFor(f, "resourceslices", func() *Informer[*resourcev1.ResourceSlice] {
		return newInformer(f.set.ResourceSlices(), &resourcev1.ResourceSlice{})
	})
}

// DeviceTaintRules is the cache of device taint rules.
func (f *Informers) DeviceTaintRules() *Informer[*resourcev1.DeviceTaintRule] {
	return informerFor(f, "devicetaintrules", func() *Informer[*resourcev1.DeviceTaintRule] {
		return newInformer(f.set.DeviceTaintRules(), &resourcev1.DeviceTaintRule{})
	})
}

// ResourcePoolStatusRequests is the cache of ResourcePoolStatusRequests.
func (f *Informers) ResourcePoolStatusRequests() *Informer[*upstreamv1alpha3.ResourcePoolStatusRequest] {
	return informerFor(f, "resourcepoolstatusrequests", func() *Informer[*upstreamv1alpha3.ResourcePoolStatusRequest] {
		return newInformer(f.set.ResourcePoolStatusRequests(), &upstreamv1alpha3.ResourcePoolStatusRequest{})
	})
}
