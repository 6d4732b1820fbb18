package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// Devices prepares devices of claims on a node. Both methods are idempotent, and may be called
// concurrently for different pods. They may return errPending, and enqueue the pod later.
type Devices interface {
	// Prepare prepares the claims' devices for a pod, on its node. An error is reported on the pod,
	// and retried.
	Prepare(ctx context.Context, pod *core.Pod, claims []*resource.ResourceClaim) error
	// Unprepare is called when the pod has ended. It reverts Prepare for the claims that no other pod
	// on the node holds. They are passed as they were prepared, because the API may have other
	// versions, or none.
	Unprepare(ctx context.Context, pod *core.Pod, claims []*resource.ResourceClaim) error
}

// noDevices implements Devices for simulated nodes: devices are always ready.
type noDevices struct{}

func (noDevices) Prepare(context.Context, *core.Pod, []*resource.ResourceClaim) error   { return nil }
func (noDevices) Unprepare(context.Context, *core.Pod, []*resource.ResourceClaim) error { return nil }

// holdings tracks the claims that pods hold on nodes: from before they are prepared until the last
// pod on the node that holds them has ended, whatever the API shows. The device of a pod that was
// deleted by force is therefore not used by another pod before the first one has ended (F39).
type holdings struct {
	devices Devices

	mu       sync.Mutex
	byPlace  map[place]*holding
	ofPod    map[types.UID][]place
	ofDevice map[string]map[place]bool // holders of devices that a claim does not share
}

// place is a claim on a node.
type place struct {
	node  string
	claim types.UID
}

type holding struct {
	claim *resource.ResourceClaim
	pods  map[types.UID]string // names by UID
	// leaving means that the claim is being unprepared after the last pod, and cannot be used until
	// it is prepared again.
	leaving bool
}

func newHoldings(d Devices) *holdings {
	return &holdings{
		devices:  d,
		byPlace:  map[place]*holding{},
		ofPod:    map[types.UID][]place{},
		ofDevice: map[string]map[place]bool{},
	}
}

// take makes the pod hold the claims, or returns an error that names a device held by another
// claim. It changes nothing for a pod that holds them already.
func (h *holdings) take(pod *core.Pod, claims []*resource.ResourceClaim) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, claim := range claims {
		if err := h.conflict(claim); err != nil {
			return err
		}
		if own := h.byPlace[place{pod.Spec.NodeName, claim.UID}]; own != nil && own.leaving {
			return fmt.Errorf("ResourceClaim %q is being taken back from pod %s", claim.Name, own.names())
		}
	}
	for _, claim := range claims {
		h.add(place{pod.Spec.NodeName, claim.UID}, claim, pod)
	}
	return nil
}

// conflict checks all nodes, because devices may be shared by nodes. The lock must be held.
func (h *holdings) conflict(claim *resource.ResourceClaim) error {
	for _, device := range exclusive(claim) {
		for at := range h.ofDevice[device] {
			if at.claim != claim.UID {
				other := h.byPlace[at]
				return fmt.Errorf(
					"device %s is still held by ResourceClaim %q of pod %s on node %s; a pod that is deleted by force keeps its devices until it has ended",
					device,
					other.claim.Name,
					other.names(),
					at.node,
				)
			}
		}
	}
	return nil
}

// restore makes the pod hold a claim that an earlier agent prepared for it.
func (h *holdings) restore(claim *resource.ResourceClaim, pod *core.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(place{pod.Spec.NodeName, claim.UID}, claim, pod)
}

// add adds a holder. The lock must be held.
func (h *holdings) add(at place, claim *resource.ResourceClaim, pod *core.Pod) {
	if h.byPlace[at] == nil {
		h.byPlace[at] = &holding{claim: claim, pods: map[types.UID]string{}}
	}
	if _, has := h.byPlace[at].pods[pod.UID]; has {
		return
	}
	h.byPlace[at].pods[pod.UID] = pod.Name
	h.ofPod[pod.UID] = append(h.ofPod[pod.UID], at)
	for _, device := range exclusive(claim) {
		if h.ofDevice[device] == nil {
			h.ofDevice[device] = map[place]bool{}
		}
		h.ofDevice[device][at] = true
	}
}

// prepare prepares the devices of all claims on the node of the pod.
func (h *holdings) prepare(ctx context.Context, pod *core.Pod, claims []*resource.ResourceClaim) error {
	if err := h.devices.Prepare(ctx, pod, claims); err != nil {
		return fmt.Errorf("prepare dynamic resources: %w", err)
	}
	return nil
}

// release releases all claims of the pod. Claims without other pods on the node are unprepared first,
// and stay held if that fails.
func (h *holdings) release(ctx context.Context, pod *core.Pod) (freed bool, err error) {
	last := h.removeFromShared(pod)
	if err := h.devices.Unprepare(ctx, pod, h.claims(last)); err != nil {
		return false, fmt.Errorf("unprepare dynamic resources: %w", err)
	}
	for _, at := range last {
		h.remove(at, pod)
	}
	return len(last) > 0, nil
}

// removeFromShared removes the pod from claims with other pods, and returns the claims to unprepare.
func (h *holdings) removeFromShared(pod *core.Pod) []place {
	h.mu.Lock()
	defer h.mu.Unlock()
	var last []place
	for _, at := range h.ofPod[pod.UID] {
		if holding := h.byPlace[at]; len(holding.pods) > 1 {
			delete(holding.pods, pod.UID)
		} else {
			holding.leaving = true
			last = append(last, at)
		}
	}
	h.setPod(pod, last)
	return last
}

func (h *holdings) setPod(pod *core.Pod, places []place) {
	if len(places) == 0 {
		delete(h.ofPod, pod.UID)
		return
	}
	h.ofPod[pod.UID] = slices.Clone(places)
}

func (h *holdings) claims(places []place) []*resource.ResourceClaim {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*resource.ResourceClaim
	for _, at := range places {
		out = append(out, h.byPlace[at].claim)
	}
	return out
}

func (h *holdings) remove(at place, pod *core.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setPod(pod, slices.DeleteFunc(h.ofPod[pod.UID], func(p place) bool { return p == at }))
	for _, device := range exclusive(h.byPlace[at].claim) {
		if delete(h.ofDevice[device], at); len(h.ofDevice[device]) == 0 {
			delete(h.ofDevice, device)
		}
	}
	delete(h.byPlace, at)
}

func (h *holding) names() string {
	return strings.Join(slices.Sorted(maps.Values(h.pods)), ", ")
}

// exclusive returns the devices that the claim does not share.
func exclusive(claim *resource.ResourceClaim) []string {
	if claim.Status.Allocation == nil {
		return nil
	}
	var out []string
	for _, r := range claim.Status.Allocation.Devices.Results {
		if r.ShareID == nil && !ptr.Deref(r.AdminAccess, false) {
			out = append(out, r.Driver+"/"+r.Pool+"/"+r.Device)
		}
	}
	return out
}
