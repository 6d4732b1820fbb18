package quota

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiquota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

const (
	// storageClassSuffix is behind the name of a StorageClass, in front of what is counted of it.
	storageClassSuffix = ".storageclass.storage.k8s.io/"
	// mostDevices is how many devices a request for all devices can get.
	mostDevices = resourcev1.AllocationResultsMaxSize
)

func count(n int64) apiresource.Quantity { return *apiresource.NewQuantity(n, apiresource.DecimalSI) }

func countName(resource schema.GroupResource) corev1.ResourceName {
	return generic.ObjectCountQuotaResourceNameFor(resource)
}

// podUsage returns what a pod uses. One that has ended, or whose time to end is over, is counted as
// an object only.
func podUsage(pod *core.Pod, now time.Time) corev1.ResourceList {
	out := corev1.ResourceList{countName(pods): count(1)}
	if hasEnded(pod, now) {
		return out
	}
	upstream := pod.Upstream()
	options := resourcehelper.PodResourcesOptions{UseStatusResources: true}
	return apiquota.Add(out,
		computeUsage(resourcehelper.PodRequests(upstream, options), resourcehelper.PodLimits(upstream, options)))
}

func hasEnded(pod *core.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return false
	}
	return now.After(pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second))
}

// computeUsage returns requests and limits under the names that they have in quotas.
func computeUsage(requests, limits corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{corev1.ResourcePods: count(1)}
	for name, q := range requests {
		switch {
		case isCompute(name):
			out[name], out[requestOf(name)] = q, q
		case strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			out[name], out[requestOf(name)] = q, q
		case isExtended(name):
			out[requestOf(name)] = q
		}
	}
	for name, q := range limits {
		if isCompute(name) {
			out[corev1.ResourceName("limits."+string(name))] = q
		}
	}
	return out
}

func isCompute(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
}

func requestOf(name corev1.ResourceName) corev1.ResourceName {
	return corev1.DefaultResourceRequestsPrefix + name
}

// isExtended reports whether a resource of a pod is not one of Kubernetes itself.
func isExtended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
}

// claimUsage returns for each DeviceClass the most devices that a claim can get. Of alternatives,
// the largest counts.
func claimUsage(claim *resource.ResourceClaim) corev1.ResourceList {
	out := corev1.ResourceList{countName(resourceClaims): count(1)}
	add := func(class string, devices int64) {
		name := corev1.ResourceName(class + corev1.ResourceClaimsPerClass)
		sum := out[name]
		sum.Add(count(devices))
		out[name] = sum
	}
	for _, request := range claim.Spec.Devices.Requests {
		if e := request.Exactly; e != nil && len(request.FirstAvailable) == 0 {
			add(e.DeviceClassName, devicesOf(e.AllocationMode, e.Count))
		}
		largest := map[string]int64{}
		for _, sub := range request.FirstAvailable {
			largest[sub.DeviceClassName] = max(largest[sub.DeviceClassName], devicesOf(sub.AllocationMode, sub.Count))
		}
		for class, devices := range largest {
			add(class, devices)
		}
	}
	return out
}

func devicesOf(mode resourcev1.DeviceAllocationMode, exact int64) int64 {
	switch mode {
	case resourcev1.DeviceAllocationModeExactCount:
		return exact
	case resourcev1.DeviceAllocationModeAll:
		return mostDevices
	}
	return 0
}

// serviceUsage returns the node ports and the load balancer that a Service asks for.
func serviceUsage(s *corev1.Service) corev1.ResourceList {
	var nodePorts, balancers int64
	switch s.Spec.Type {
	case corev1.ServiceTypeNodePort:
		nodePorts = int64(len(s.Spec.Ports))
	case corev1.ServiceTypeLoadBalancer:
		balancers, nodePorts = 1, int64(len(s.Spec.Ports))
		if !ptr.Deref(s.Spec.AllocateLoadBalancerNodePorts, true) {
			nodePorts = 0
			for _, p := range s.Spec.Ports {
				if p.NodePort != 0 {
					nodePorts++
				}
			}
		}
	}
	return corev1.ResourceList{
		countName(services): count(1), corev1.ResourceServices: count(1),
		corev1.ResourceServicesNodePorts: count(nodePorts), corev1.ResourceServicesLoadBalancers: count(balancers),
	}
}

// volumeClaimUsage returns the storage that a PersistentVolumeClaim requests, or has if that is
// more.
func volumeClaimUsage(c *corev1.PersistentVolumeClaim) corev1.ResourceList {
	out := corev1.ResourceList{countName(volumeClaims): count(1), corev1.ResourcePersistentVolumeClaims: count(1)}
	class := volume.GetPersistentVolumeClaimClass(c)
	byClass := func(name corev1.ResourceName) corev1.ResourceName {
		return corev1.ResourceName(class + storageClassSuffix + string(name))
	}
	if class != "" {
		out[byClass(corev1.ResourcePersistentVolumeClaims)] = count(1)
	}
	storage, ok := c.Spec.Resources.Requests[corev1.ResourceStorage]
	if !ok {
		return out
	}
	if allocated, has := c.Status.AllocatedResources[corev1.ResourceStorage]; has && allocated.Cmp(storage) > 0 {
		storage = allocated
	}
	out[corev1.ResourceRequestsStorage] = storage
	if class != "" {
		out[byClass(corev1.ResourceRequestsStorage)] = storage
	}
	return out
}
