package quota

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiquota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

var (
	pods           = schema.GroupResource{Resource: "pods"}
	services       = schema.GroupResource{Resource: "services"}
	volumeClaims   = schema.GroupResource{Resource: "persistentvolumeclaims"}
	resourceClaims = schema.GroupResource{Group: resourcev1.GroupName, Resource: "resourceclaims"}
)

// Lister lists the objects of a resource in a namespace: those of the kinds above as what they are,
// of others whatever can be counted.
type Lister func(resource schema.GroupResource, namespace string) ([]runtime.Object, error)

// Evaluators returns the evaluators of all kinds that use more than one of their count, and of
// those whose count has a name without "count/".
func Evaluators(list Lister, now func() time.Time) []apiquota.Evaluator {
	of := func(resource schema.GroupResource) generic.ListFuncByNamespace {
		return func(namespace string) ([]runtime.Object, error) { return list(resource, namespace) }
	}
	out := []apiquota.Evaluator{
		&evaluator[*core.Pod]{
			resource: pods, list: of(pods), counts: countedOfPods, inScope: podInScope, constraints: explicitRequests,
			usage: func(pod *core.Pod) corev1.ResourceList { return podUsage(pod, now()) },
			charged: func(pod, old *core.Pod) bool {
				return (pod.Spec.ActiveDeadlineSeconds == nil) != (old.Spec.ActiveDeadlineSeconds == nil)
			},
		},
		&evaluator[*resource.ResourceClaim]{
			resource: resourceClaims, list: of(resourceClaims), usage: claimUsage,
			counts: func(name corev1.ResourceName) bool {
				return strings.HasSuffix(string(name), corev1.ResourceClaimsPerClass)
			},
		},
		&evaluator[*corev1.Service]{
			resource: services, list: of(services), usage: serviceUsage,
			counts: func(name corev1.ResourceName) bool {
				return name == corev1.ResourceServices || name == corev1.ResourceServicesNodePorts ||
					name == corev1.ResourceServicesLoadBalancers
			},
			charged: func(s, old *corev1.Service) bool {
				return !apiequality.Semantic.DeepEqual(serviceUsage(s), serviceUsage(old))
			},
		},
		&evaluator[*corev1.PersistentVolumeClaim]{
			resource: volumeClaims, list: of(volumeClaims), usage: volumeClaimUsage, inScope: volumeClaimInScope,
			counts: func(name corev1.ResourceName) bool {
				_, ofClass, found := strings.Cut(string(name), storageClassSuffix)
				if !found {
					ofClass = string(name)
				}
				return ofClass == string(corev1.ResourcePersistentVolumeClaims) || ofClass == string(corev1.ResourceRequestsStorage)
			},
			charged: func(c, old *corev1.PersistentVolumeClaim) bool {
				return !apiequality.Semantic.DeepEqual(volumeClaimUsage(c), volumeClaimUsage(old))
			},
		},
	}
	for _, name := range []corev1.ResourceName{
		corev1.ResourceConfigMaps, corev1.ResourceSecrets, corev1.ResourceQuotas, corev1.ResourceReplicationControllers,
	} {
		r := schema.GroupResource{Resource: string(name)}
		out = append(out, generic.NewObjectCountEvaluator(r, of(r), name))
	}
	return out
}

// Registry returns the evaluators for what a quota counts, those of "count/" names included.
func Registry(list Lister, now func() time.Time, hard corev1.ResourceList) apiquota.Registry {
	registry := generic.NewRegistry(Evaluators(list, now))
	for name := range hard {
		text, ok := strings.CutPrefix(string(name), "count/")
		if !ok {
			continue
		}
		r := schema.ParseGroupResource(text)
		if registry.Get(r) == nil {
			registry.Add(
				generic.NewObjectCountEvaluator(r, func(namespace string) ([]runtime.Object, error) { return list(r, namespace) },
					""),
			)
		}
	}
	return registry
}

// IsCountOfOthers reports whether a name in a quota is the count of a kind that only counts.
func IsCountOfOthers(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceConfigMaps, corev1.ResourceSecrets, corev1.ResourceQuotas, corev1.ResourceReplicationControllers:
		return true
	case countName(pods), countName(services), countName(volumeClaims), countName(resourceClaims):
		return false
	}
	return strings.HasPrefix(string(name), "count/")
}

// countedOfPods reports whether a name is one that the usage of pods can have.
func countedOfPods(name corev1.ResourceName) bool {
	bare := corev1.ResourceName(
		strings.TrimPrefix(strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix), "limits."),
	)
	switch {
	case name == corev1.ResourcePods || isCompute(bare):
		return true
	case strings.HasPrefix(string(bare), corev1.ResourceHugePagesPrefix):
		return !strings.HasPrefix(string(name), "limits.")
	}
	request, ok := strings.CutPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
	return ok && isExtended(corev1.ResourceName(request))
}

// explicitRequests refuses pods that leave out CPU or memory where a quota counts them, in words
// that name the containers.
func explicitRequests(required []corev1.ResourceName, pod *core.Pod) error {
	if r := pod.Spec.Resources; r != nil && len(r.Requests)+len(r.Limits) > 0 {
		return nil
	}
	var missing []string
	for _, name := range slices.Sorted(slices.Values(required)) {
		bare := corev1.ResourceName(
			strings.TrimPrefix(strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix), "limits."),
		)
		if bare != corev1.ResourceCPU && bare != corev1.ResourceMemory {
			continue
		}
		var containers []string
		for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			if _, ok := computeUsage(c.Resources.Requests, c.Resources.Limits)[name]; !ok {
				containers = append(containers, c.Name)
			}
		}
		if len(containers) > 0 {
			slices.Sort(containers)
			missing = append(missing, fmt.Sprintf("%s for: %s", name, strings.Join(containers, ",")))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("must specify %s", strings.Join(missing, "; "))
}
