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

// Devices makes the devices of claims ready on a node, and takes them back. Both methods may be called again with the same
// arguments, and from several goroutines for different claims.
type Devices interface {
	// Prepare makes a claim's devices ready for pods on the node. An error is said on the pod, and it is tried again.
	Prepare(ctx context.Context, node string, claim *resource.ResourceClaim) error
	// Unprepare takes them back. The claim is as it was prepared: by now the API may show another one, or none.
	Unprepare(ctx context.Context, node string, claim *resource.ResourceClaim) error
}

// noDevices are those of simulated nodes: they are ready at once.
type noDevices struct{}

func (noDevices) Prepare(context.Context, string, *resource.ResourceClaim) error   { return nil }
func (noDevices) Unprepare(context.Context, string, *resource.ResourceClaim) error { return nil }

// holdings are the claims that pods hold on nodes: from before they are prepared until the last pod there that held them has
// ended, whatever the API says meanwhile. So a device that a pod has which was deleted by force is not given to the next
// before it has ended (F39).
type holdings struct {
	devices Devices

	mu       sync.Mutex
	held     map[place]*holding
	ofPod    map[types.UID][]place
	ofDevice map[string]map[place]bool // devices that a claim shares with no other
}

// place is a claim on a node.
type place struct {
	node  string
	claim types.UID
}

type holding struct {
	claim *resource.ResourceClaim
	pods  map[types.UID]string // with their names
	// leaving: it is being taken back from the last pod, and nobody can have it until it is prepared anew.
	leaving bool
}

func newHoldings(d Devices) *holdings {
	return &holdings{devices: d, held: map[place]*holding{}, ofPod: map[types.UID][]place{}, ofDevice: map[string]map[place]bool{}}
}

// take has the pod hold the claims, or says which device of them another claim still has. It changes nothing for a pod that
// holds them already.
func (h *holdings) take(pod *core.Pod, claims []*resource.ResourceClaim) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, claim := range claims {
		if err := h.conflict(claim); err != nil {
			return err
		}
		if own := h.held[place{pod.Spec.NodeName, claim.UID}]; own != nil && own.leaving {
			return fmt.Errorf("ResourceClaim %q is being taken back from pod %s", claim.Name, own.names())
		}
	}
	for _, claim := range claims {
		h.add(place{pod.Spec.NodeName, claim.UID}, claim, pod)
	}
	return nil
}

// conflict looks at all nodes, as devices need not be of one. It is called with the lock held.
func (h *holdings) conflict(claim *resource.ResourceClaim) error {
	for _, device := range exclusive(claim) {
		for at := range h.ofDevice[device] {
			if at.claim != claim.UID {
				other := h.held[at]
				return fmt.Errorf("device %s is still held by ResourceClaim %q of pod %s on node %s; a pod that is deleted by force keeps its devices until it has ended",
					device, other.claim.Name, other.names(), at.node)
			}
		}
	}
	return nil
}

// add is called with the lock held.
func (h *holdings) add(at place, claim *resource.ResourceClaim, pod *core.Pod) {
	if h.held[at] == nil {
		h.held[at] = &holding{claim: claim, pods: map[types.UID]string{}}
	}
	if _, has := h.held[at].pods[pod.UID]; has {
		return
	}
	h.held[at].pods[pod.UID] = pod.Name
	h.ofPod[pod.UID] = append(h.ofPod[pod.UID], at)
	for _, device := range exclusive(claim) {
		if h.ofDevice[device] == nil {
			h.ofDevice[device] = map[place]bool{}
		}
		h.ofDevice[device][at] = true
	}
}

// prepare makes the devices of all claims ready on the pod's node.
func (h *holdings) prepare(ctx context.Context, pod *core.Pod, claims []*resource.ResourceClaim) error {
	for _, claim := range claims {
		if err := h.devices.Prepare(ctx, pod.Spec.NodeName, claim); err != nil {
			return fmt.Errorf("prepare ResourceClaim %q: %w", claim.Name, err)
		}
	}
	return nil
}

// give has the pod hold nothing any more. A claim that no other pod on the node holds is taken back before; if that does
// not succeed, it stays held.
func (h *holdings) give(ctx context.Context, pod *core.Pod) (freed bool, err error) {
	for _, at := range h.leave(pod) {
		claim := h.claim(at)
		if err := h.devices.Unprepare(ctx, at.node, claim); err != nil {
			return freed, fmt.Errorf("unprepare ResourceClaim %q: %w", claim.Name, err)
		}
		h.remove(at, pod)
		freed = true
	}
	return freed, nil
}

// leave takes the pod off the claims that others hold as well, and gives those that are to be taken back.
func (h *holdings) leave(pod *core.Pod) []place {
	h.mu.Lock()
	defer h.mu.Unlock()
	var last []place
	for _, at := range h.ofPod[pod.UID] {
		if holding := h.held[at]; len(holding.pods) > 1 {
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

func (h *holdings) claim(at place) *resource.ResourceClaim {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held[at].claim
}

func (h *holdings) remove(at place, pod *core.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setPod(pod, slices.DeleteFunc(h.ofPod[pod.UID], func(p place) bool { return p == at }))
	for _, device := range exclusive(h.held[at].claim) {
		if delete(h.ofDevice[device], at); len(h.ofDevice[device]) == 0 {
			delete(h.ofDevice, device)
		}
	}
	delete(h.held, at)
}

func (h *holding) names() string {
	return strings.Join(slices.Sorted(maps.Values(h.pods)), ", ")
}

// exclusive are the devices that the claim shares with no other.
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
