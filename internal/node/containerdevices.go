package node

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/node/plugins"
)

// preparedDevices returns the devices that drivers have prepared for a claim on a node.
type preparedDevices interface {
	Devices(node, namespace, claim string) []plugins.PreparedDevice
}

// containerDevices adds the health of the devices of each container to the state, and returns the
// value of AnnotationDevices. The result is empty if no driver has prepared anything for the pod.
func (p *pods) containerDevices(pod *core.Pod, state *PodState) string {
	if p.prepared == nil || len(usedClaims(pod)) == 0 {
		return ""
	}
	cdi := map[string][]string{}
	for i := range pod.Spec.InitContainers {
		p.addDevices(cdi, pod, &pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		p.addDevices(cdi, pod, c)
		if p.features.On(features.ResourceHealthStatus) && !state.Ended && i < len(state.Containers) {
			var expires time.Time
			state.Containers[i].AllocatedResourcesStatus, expires = p.resourceHealth(pod, c)
			state.Again = earlier(state.Again, expires)
		}
	}
	if len(cdi) == 0 {
		return ""
	}
	text, _ := json.Marshal(cdi) // strings can always be encoded
	return string(text)
}

// addDevices adds the CDI devices of a container, in the order of its claims.
func (p *pods) addDevices(cdi map[string][]string, pod *core.Pod, c *corev1.Container) {
	for _, ref := range claimRefs(pod, c) {
		for _, device := range p.prepared.Devices(pod.Spec.NodeName, pod.Namespace, ref.claim) {
			if device.IsFor(ref.request) {
				cdi[c.Name] = append(cdi[c.Name], device.CDI...)
			}
		}
	}
}

// claimRef is a use of a claim by a container, of one request or, if that is empty, of all.
type claimRef struct {
	// entry is the name in pod.spec.resourceClaims. Claims for extended resources have none.
	entry, claim, request string
}

// claimRefs returns the uses of claims by a container, in order.
func claimRefs(pod *core.Pod, c *corev1.Container) []claimRef {
	names := map[string]string{}
	for _, u := range usedClaims(pod) {
		names[u.entry] = u.name
	}
	var out []claimRef
	for _, ref := range c.Resources.Claims {
		if name := names[ref.Name]; name != "" {
			request, _, _ := strings.Cut(ref.Request, "/")
			out = append(out, claimRef{entry: ref.Name, claim: name, request: request})
		}
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		for _, mapping := range extended.RequestMappings {
			if mapping.ContainerName == c.Name {
				out = append(out, claimRef{claim: extended.ResourceClaimName, request: mapping.RequestName})
			}
		}
	}
	return out
}

// resourceHealth returns the health of the devices of a container, and when it becomes unknown.
func (p *pods) resourceHealth(pod *core.Pod, c *corev1.Container) (out []corev1.ResourceStatus, expires time.Time) {
	for _, ref := range claimRefs(pod, c) {
		if ref.entry == "" {
			continue
		}
		name := "claim:" + ref.entry
		if ref.request != "" {
			name += "/" + ref.request
		}
		st := corev1.ResourceStatus{Name: corev1.ResourceName(name)}
		for _, device := range p.prepared.Devices(pod.Spec.NodeName, pod.Namespace, ref.claim) {
			health := p.healthOf(device)
			known := slices.ContainsFunc(st.Resources,
				func(r corev1.ResourceHealth) bool { return r.ResourceID == health.ResourceID })
			if device.IsFor(ref.request) && !known {
				st.Resources = append(st.Resources, health)
				expires = earlier(expires, device.Expires)
			}
		}
		if len(st.Resources) > 0 {
			out = append(out, st)
		}
	}
	return out, expires
}

// healthOf returns the health of a device, which its first CDI device identifies if it has one.
func (p *pods) healthOf(device plugins.PreparedDevice) corev1.ResourceHealth {
	health := corev1.ResourceHealth{Health: device.Health}
	health.ResourceID = corev1.ResourceID(fmt.Sprintf("%s/%s/%s", device.Driver, device.Pool, device.Device.Device))
	if len(device.CDI) > 0 {
		health.ResourceID = corev1.ResourceID(device.CDI[0])
	}
	if device.Message != "" && p.features.On(features.ResourceHealthStatusMessage) {
		health.Message = &device.Message
	}
	return health
}

// earlier returns the earlier of two times. A zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
