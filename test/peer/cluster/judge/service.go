package judge

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/utils/ptr"
)

// newServices and changedServices do what the storage of Services in Kubernetes does before the
// strategy, but allocate nothing (beginCreate and beginUpdate in
// k8s.io/kubernetes/pkg/registry/core/service/storage).
type (
	newServices     struct{ rest.RESTCreateStrategy }
	changedServices struct{ rest.RESTUpdateStrategy }
)

// PrepareForCreate pairs the addresses of a client that sets only one field.
func (s newServices) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	if spec := &obj.(*core.Service).Spec; spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	s.RESTCreateStrategy.PrepareForCreate(ctx, obj)
}

// PrepareForUpdate keeps the addresses and ports that the client omits, and pairs the addresses.
func (s changedServices) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	spec, before := &obj.(*core.Service).Spec, &old.(*core.Service).Spec
	if spec.Type != core.ServiceTypeExternalName && before.Type != core.ServiceTypeExternalName {
		if spec.ClusterIP == "" {
			spec.ClusterIP = before.ClusterIP
		}
		if len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = before.ClusterIPs
		}
	}
	if portsAllocated(spec) && portsAllocated(before) {
		keepNodePorts(spec.Ports, before.Ports)
	}
	if healthChecked(spec) && healthChecked(before) {
		spec.HealthCheckNodePort = cmp.Or(spec.HealthCheckNodePort, before.HealthCheckNodePort)
	}
	switch same := slices.Equal(spec.ClusterIPs, before.ClusterIPs); {
	case spec.ClusterIP == before.ClusterIP:
		if len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = before.ClusterIPs
		}
	case same && spec.ClusterIP == "":
		spec.ClusterIPs = nil
	case same:
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	s.RESTUpdateStrategy.PrepareForUpdate(ctx, obj, old)
}

// keepNodePorts sets each node port that the client omits to that of the port of the same name,
// unless the client gives it to another port.
func keepNodePorts(ports, before []core.ServicePort) {
	used, named := map[int32]bool{}, map[string]int32{}
	for _, p := range ports {
		used[p.NodePort] = true
	}
	for _, p := range before {
		named[p.Name] = p.NodePort
	}
	for i := range ports {
		if p := &ports[i]; p.NodePort == 0 && !used[named[p.Name]] {
			p.NodePort = named[p.Name]
		}
	}
}

func portsAllocated(spec *core.ServiceSpec) bool {
	return spec.Type == core.ServiceTypeNodePort ||
		spec.Type == core.ServiceTypeLoadBalancer && ptr.Deref(spec.AllocateLoadBalancerNodePorts, true)
}

func healthChecked(spec *core.ServiceSpec) bool {
	return spec.Type == core.ServiceTypeLoadBalancer &&
		spec.ExternalTrafficPolicy == core.ServiceExternalTrafficPolicyLocal
}
