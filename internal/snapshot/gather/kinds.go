package gather

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/allot-dev/allot/internal/client"
)

// kind is a kind of objects that is read.
type kind struct {
	resource   string
	group      string
	namespaced bool
	// controllers means that the kind is read for plans alone.
	controllers bool
	missing     string // what is not known without it, a clause after "so"
	source
}

// kinds returns all kinds that are read.
func kinds(set *client.Set, plain kubernetes.Interface) []kind {
	const core, apps, dra, scheduling = "", "apps", "resource.k8s.io", "scheduling.k8s.io"
	limitRanges := func(namespace string) typed.LimitRangeInterface { return plain.CoreV1().LimitRanges(namespace) }
	return []kind{
		{"nodes", core, false, false, "no node is known and nothing can be explained", clusterSource(set.Nodes)},
		{
			"namespaces", core, false, false,
			"pod affinity by namespace labels, and which namespaces may use admin access, are not known",
			clusterSource(set.Namespaces),
		},
		{
			"pods", core, true, false,
			"the free resources of nodes and the consumers of claims are not known",
			namespacedSource(set.Pods),
		},
		{
			"podgroups", set.Dialect().GroupVersion().Group, true, false,
			"which pods have to be scheduled together is not known",
			namespacedSource(set.PodGroups),
		},
		{
			"compositepodgroups", scheduling, true, false,
			"which PodGroups have to be scheduled together is not known",
			namespacedSource(set.CompositePodGroups),
		},
		{
			"priorityclasses", scheduling, false, false,
			"the names of priorities are not known",
			clusterSource(set.PriorityClasses),
		},
		{"resourceclaims", dra, true, false, "devices that are in use look free", namespacedSource(set.ResourceClaims)},
		{
			"resourceclaimtemplates", dra, true, false,
			"whether a missing claim has a template is not known",
			namespacedSource(set.ResourceClaimTemplates),
		},
		{
			"clusterresourceclaimtemplates", dra, false, false,
			"whether a missing claim has a template is not known",
			clusterSource(set.ClusterResourceClaimTemplates),
		},
		{"deviceclasses", dra, false, false, "no device class is known", clusterSource(set.DeviceClasses)},
		{"resourceslices", dra, false, false, "no device is known", clusterSource(set.ResourceSlices)},
		{
			"devicetaintrules", dra, false, false,
			"devices that a rule taints look usable",
			clusterSource(set.DeviceTaintRules),
		},
		{
			"resourcequotas", core, true, false,
			"whether a quota stands in the way is not known",
			namespacedSource(set.ResourceQuotas),
		},
		{
			"poddisruptionbudgets", "policy", true, false,
			"which pods are protected from preemption is not known",
			namespacedSource(set.PodDisruptionBudgets),
		},
		{
			"services", core, true, false,
			"which pods serve together, and are spread by default, is not known",
			namespacedSource(set.Services),
		},
		{
			"persistentvolumes", core, false, false,
			"from which nodes volumes can be used is not known",
			clusterSource(set.PersistentVolumes),
		},
		{
			"persistentvolumeclaims", core, true, false,
			"pods that mount a claim look as if it did not exist",
			namespacedSource(set.PersistentVolumeClaims),
		},
		{
			"csinodes", "storage.k8s.io", false, false,
			"how many volumes can be attached to a node is not known",
			clusterSource(set.CSINodes),
		},
		{"jobs", "batch", true, false, "nothing is known of Jobs", namespacedSource(set.Jobs)},
		{
			"statefulsets", apps, true, false,
			"whether a StatefulSet creates its pods one by one is not known",
			namespacedSource(set.StatefulSets),
		},
		{
			"workloads", set.Dialect().GroupVersion().Group, true, true,
			"PodGroups of new Jobs that name a Workload are not planned",
			namespacedSource(set.Workloads),
		},
		{
			"deployments", apps, true, true,
			"evicted pods of Deployments look as if nothing replaced them",
			namespacedSource(set.Deployments),
		},
		{
			"replicasets", apps, true, true,
			"evicted pods of ReplicaSets look as if nothing replaced them",
			namespacedSource(set.ReplicaSets),
		},
		{
			"daemonsets", apps, true, true,
			"new nodes look as if no DaemonSet created pods there",
			namespacedSource(set.DaemonSets),
		},
		{"limitranges", core, true, true, "requests that a LimitRange sets are not planned", namespacedSource(limitRanges)},
		{"events", core, true, false, "there is no history", namespacedSource(set.Events)},
	}
}

// source lists and watches the objects of a kind in a namespace.
type source struct {
	list  func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error)
	watch func(ctx context.Context, namespace string, opts metav1.ListOptions) (watch.Interface, error)
}

// lister is the part of a client that reads.
type lister[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

func clusterSource[L runtime.Object, C lister[L]](of func() C) source {
	return namespacedSource(func(string) C { return of() })
}

func namespacedSource[L runtime.Object, C lister[L]](of func(namespace string) C) source {
	return source{
		list: func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
			return of(namespace).List(ctx, opts)
		},
		watch: func(ctx context.Context, namespace string, opts metav1.ListOptions) (watch.Interface, error) {
			return of(namespace).Watch(ctx, opts)
		},
	}
}
