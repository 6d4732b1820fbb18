package plugins

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// WipeDelay is how long a driver may be without a connected plugin before its ResourceSlices for
// the node are deleted, as in a kubelet.
const WipeDelay = 30 * time.Second

// longestSocket is the length of the longest path of a unix socket.
const longestSocket = 107

// Options configures a Host. All functions are required, are called from any goroutine, and must
// not call the Host.
type Options struct {
	// Dir is the folder with the folders of the nodes.
	Dir   string
	Nodes []string
	// Simulated are the drivers whose devices need no preparation, unless a plugin registers.
	Simulated []string
	// Registered is called when a plugin has registered.
	Registered func(node, driver string)
	// Unavailable is called when no plugin of a driver has been connected for WipeDelay.
	Unavailable func(node, driver string)
	// Changed is called when pods of the node may go on, or when the health of devices has changed.
	Changed func(node string)
	// CallTimeout and WipeDelay replace the constants of the same name, unless they are zero.
	CallTimeout, WipeDelay time.Duration
}

// Host is the side of the kubelet for several nodes.
type Host struct {
	nodes   map[string]*node
	order   []*node
	watcher *watcher // set by Open
}

// New creates the folders of the nodes and reads the records of an earlier process.
func New(opts Options) (*Host, error) {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("folder for plugins: %w", err)
	}
	if opts.CallTimeout == 0 {
		opts.CallTimeout = CallTimeout
	}
	if opts.WipeDelay == 0 {
		opts.WipeDelay = WipeDelay
	}
	h := &Host{nodes: map[string]*node{}}
	for _, name := range opts.Nodes {
		n, err := newNode(name, folderOf(dir, name), opts)
		if err != nil {
			return nil, err
		}
		h.nodes[name] = n
		h.order = append(h.order, n)
	}
	return h, nil
}

// Open watches the folders. It fails if the user watches too many already.
func (h *Host) Open() (err error) {
	h.watcher, err = newWatcher(h.order)
	return err
}

// Run registers plugins until ctx ends. Open must have been called.
func (h *Host) Run(ctx context.Context) {
	h.watcher.run(ctx)
	for _, n := range h.order {
		n.registrar.running.Wait()
		n.stop()
	}
}

// Taken returns the drivers that have ever registered on a node.
func (h *Host) Taken(node string) []string { return h.nodes[node].takenDrivers() }

// Needs reports whether a driver must prepare one of the claims on the node.
func (h *Host) Needs(node string, claims []*resource.ResourceClaim) bool {
	n, ok := h.nodes[node]
	return ok && len(n.real(claims)) > 0
}

// Uses reports whether the pod uses a claim that drivers have prepared, or have been asked to.
func (h *Host) Uses(pod *core.Pod) bool {
	n, ok := h.nodes[pod.Spec.NodeName]
	return ok && n.uses(pod.UID)
}

// Prepare has the drivers prepare the claims for a pod. It has no effect on claims that are
// prepared already, except that the pod uses them.
func (h *Host) Prepare(ctx context.Context, pod *core.Pod, claims []*resource.ResourceClaim) error {
	n, ok := h.nodes[pod.Spec.NodeName]
	if !ok {
		return errUnknownNode
	}
	return n.prepare(ctx, pod, claims)
}

// Unprepare ends the pod's use of its claims. The drivers unprepare those that no other pod uses.
func (h *Host) Unprepare(ctx context.Context, pod *core.Pod) error {
	n, ok := h.nodes[pod.Spec.NodeName]
	if !ok {
		return errUnknownNode
	}
	return n.unprepare(ctx, pod)
}

var errUnknownNode = errors.New("the node is not in the fleet")

// Held is a claim that was prepared on a node, or was about to be.
type Held struct {
	Node  string
	Claim *resource.ResourceClaim
	Pods  map[types.UID]string // names
}

// Held returns the claims of all nodes.
func (h *Host) Held() []Held {
	var out []Held
	for _, n := range h.order {
		out = append(out, n.held()...)
	}
	return out
}
