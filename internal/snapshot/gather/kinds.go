package gather

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/allot-dev/allot/internal/client"
)

// kind is a kind of objects that is read.
type kind struct {
	resource   string
	group      string
	namespaced bool
	missing    string // what is not known without it, a clause after "so"
	list       func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error)
}

// kinds returns all kinds that are read.
func kinds(set *client.Set, plain kubernetes.Interface) []kind {
	const core, dra, scheduling = "", "resource.k8s.io", "scheduling.k8s.io"
	return []kind{
		{"nodes", core, false, "no node is known and nothing can be explained", cluster(set.Nodes)},
		{
			"namespaces",
			core,
			false,
			"pod affinity by namespace labels, and which namespaces may use admin access, are not known",
			cluster(set.Namespaces),
		},
		{"pods", core, true, "the free resources of nodes and the consumers of claims are not known", spaced(set.Pods)},
		{
			"podgroups",
			set.Dialect().GroupVersion().Group,
			true,
			"which pods have to be scheduled together is not known",
			spaced(set.PodGroups),
		},
		{"priorityclasses", scheduling, false, "the names of priorities are not known", cluster(set.PriorityClasses)},
		{"resourceclaims", dra, true, "devices that are in use look free", spaced(set.ResourceClaims)},
		{
			"resourceclaimtemplates",
			dra,
			true,
			"whether a missing claim has a template is not known",
			spaced(set.ResourceClaimTemplates),
		},
		{
			"clusterresourceclaimtemplates",
			dra,
			false,
			"whether a missing claim has a template is not known",
			cluster(set.ClusterResourceClaimTemplates),
		},
		{"deviceclasses", dra, false, "no device class is known", cluster(set.DeviceClasses)},
		{"resourceslices", dra, false, "no device is known", cluster(set.ResourceSlices)},
		{"devicetaintrules", dra, false, "devices that a rule taints look usable", cluster(set.DeviceTaintRules)},
		{"resourcequotas", core, true, "whether a quota stands in the way is not known", quotas(plain)},
		{
			"poddisruptionbudgets",
			"policy",
			true,
			"which pods are protected from preemption is not known",
			spaced(set.PodDisruptionBudgets),
		},
		{"services", core, true, "which pods serve together, and are spread by default, is not known", spaced(set.Services)},
		{
			"persistentvolumes",
			core,
			false,
			"from which nodes volumes can be used is not known",
			cluster(set.PersistentVolumes),
		},
		{
			"persistentvolumeclaims",
			core,
			true,
			"pods that mount a claim look as if it did not exist",
			spaced(set.PersistentVolumeClaims),
		},
		{
			"csinodes",
			"storage.k8s.io",
			false,
			"how many volumes can be attached to a node is not known",
			cluster(set.CSINodes),
		},
		{"jobs", "batch", true, "nothing is known of Jobs", spaced(set.Jobs)},
		{
			"statefulsets",
			"apps",
			true,
			"whether a StatefulSet creates its pods one by one is not known",
			spaced(set.StatefulSets),
		},
		{"events", core, true, "there is no history", spaced(set.Events)},
	}
}

// lister is the part of a client that lists.
type lister[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
}

func cluster[L runtime.Object, C lister[L]](
	of func() C,
) func(context.Context, string, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, _ string, opts metav1.ListOptions) (runtime.Object, error) {
		return of().List(ctx, opts)
	}
}

func spaced[L runtime.Object, C lister[L]](
	of func(namespace string) C,
) func(context.Context, string, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
		return of(namespace).List(ctx, opts)
	}
}

// quotas lists ResourceQuotas with a client of Kubernetes' own types, because allot's have none.
func quotas(plain kubernetes.Interface) func(context.Context, string, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
		return plain.CoreV1().ResourceQuotas(namespace).List(ctx, opts)
	}
}
