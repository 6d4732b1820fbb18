package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/fleet"
)

// poolKey identifies a pool of devices.
type poolKey struct{ driver, pool string }

func poolOf(slice *resourcev1.ResourceSlice) poolKey {
	return poolKey{slice.Spec.Driver, slice.Spec.Pool.Name}
}

func (k poolKey) String() string { return k.driver + "/" + k.pool }

// publication holds the writes that publish a pool as wanted.
type publication struct {
	create, update, remove []*resourcev1.ResourceSlice
}

func (p publication) empty() bool { return len(p.create)+len(p.update)+len(p.remove) == 0 }

// publish compares the wanted and the published slices of a pool. After any difference the whole
// pool gets a new generation, so that readers never combine old and new slices.
func publish(want, have []*resourcev1.ResourceSlice) publication {
	byName := map[string]*resourcev1.ResourceSlice{}
	generation := int64(0)
	for _, slice := range have {
		byName[slice.Name] = slice
		generation = max(generation, slice.Spec.Pool.Generation)
	}
	same := len(want) == len(have)
	for _, slice := range want {
		published, ok := byName[slice.Name]
		same = same && ok && published.Spec.Pool.Generation == generation && sameSlice(slice, published)
	}
	if same {
		return publication{}
	}
	var p publication
	for _, slice := range want {
		next := slice.DeepCopy()
		next.Spec.Pool.Generation = generation + 1
		published, ok := byName[slice.Name]
		delete(byName, slice.Name)
		if !ok {
			p.create = append(p.create, next)
			continue
		}
		next.ObjectMeta = *published.ObjectMeta.DeepCopy()
		if next.Labels == nil {
			next.Labels = map[string]string{}
		}
		maps.Copy(next.Labels, slice.Labels)
		next.OwnerReferences = slice.OwnerReferences
		p.update = append(p.update, next)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		p.remove = append(p.remove, byName[name])
	}
	return p
}

// sameSlice compares all fields that the agent sets, except for the generation.
func sameSlice(want, have *resourcev1.ResourceSlice) bool {
	spec := want.Spec
	spec.Pool.Generation = have.Spec.Pool.Generation
	for key, value := range want.Labels {
		if have.Labels[key] != value {
			return false
		}
	}
	return equality.Semantic.DeepEqual(spec, have.Spec) &&
		equality.Semantic.DeepEqual(want.OwnerReferences, have.OwnerReferences)
}

type sliceCache interface {
	ByIndex(index, key string) []*resourcev1.ResourceSlice
}

type sliceWriter interface {
	CreateSlice(ctx context.Context, slice *resourcev1.ResourceSlice) (*resourcev1.ResourceSlice, error)
	UpdateSlice(ctx context.Context, slice *resourcev1.ResourceSlice) (*resourcev1.ResourceSlice, error)
	DeleteSlice(ctx context.Context, slice *resourcev1.ResourceSlice) error
}

// slicesByPool is the name of the index of slices by pool.
const slicesByPool = "node/slices-by-pool"

// pools publishes the devices of the fleet.
type pools struct {
	cache sliceCache
	nodes nodeCache
	write sliceWriter
	queue reconciler.Queue[poolKey]
	// desired has the slices of each pool, in order; immutable. Other pools are not managed.
	desired map[poolKey][]resourcev1.ResourceSlice
	ofNode  map[string][]poolKey // node-local pools
	echoes  *ownWrites
	fleet   string

	mu       sync.Mutex
	external map[poolKey]bool // pools of drivers, which publish their devices themselves
	// published is called when a pool is in sync.
	published func(poolKey)
}

// take leaves the pool to a driver that has registered on its node.
func (p *pools) take(key poolKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.external[key] = true
}

func (p *pools) isTaken(key poolKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.external[key]
}

// withdraw deletes the fleet's slices of a pool that a driver has taken.
func (p *pools) withdraw(ctx context.Context, key poolKey) error {
	var todo publication
	for _, slice := range p.cache.ByIndex(slicesByPool, key.String()) {
		if slice.Labels[fleet.LabelFleet] == p.fleet {
			todo.remove = append(todo.remove, slice)
		}
	}
	if err := p.carryOut(ctx, todo); err != nil {
		return fmt.Errorf("withdraw pool %s: %w", key, err)
	}
	p.published(key)
	return nil
}

// reconcile publishes one pool.
func (p *pools) reconcile(ctx context.Context, key poolKey) error {
	if p.isTaken(key) {
		return p.withdraw(ctx, key)
	}
	want, ready := p.desiredSlices(key)
	if !ready {
		return nil // the node's registration brings the key back
	}
	have := p.cache.ByIndex(slicesByPool, key.String())
	if p.isCacheBehind(want, have) {
		p.queue.AddAfter(key, time.Second)
		return nil
	}
	todo := publish(want, have)
	if todo.empty() {
		p.published(key)
		return nil
	}
	if err := p.carryOut(ctx, todo); err != nil {
		return fmt.Errorf("publish pool %s: %w", key, err)
	}
	return nil
}

// desiredSlices returns the slices to publish. Slices of a node are owned by the Node, which must exist.
func (p *pools) desiredSlices(key poolKey) ([]*resourcev1.ResourceSlice, bool) {
	var out []*resourcev1.ResourceSlice
	for i := range p.desired[key] {
		slice := p.desired[key][i].DeepCopy()
		if slice.Spec.NodeName != nil {
			node, ok := p.nodes.Get("", *slice.Spec.NodeName)
			if !ok {
				return nil, false
			}
			slice.OwnerReferences = []metav1.OwnerReference{nodeOwner(node)}
		}
		out = append(out, slice)
	}
	return out, len(out) > 0
}

func nodeOwner(node *corev1.Node) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: new(true)}
}

// isCacheBehind reports whether the cache does not show the agent's own write to the pool yet.
func (p *pools) isCacheBehind(want, have []*resourcev1.ResourceSlice) bool {
	versions := map[string]string{}
	for _, slice := range want {
		versions[slice.Name] = ""
	}
	for _, slice := range have {
		versions[slice.Name] = slice.ResourceVersion
	}
	for name, version := range versions {
		if p.echoes.missing("slice/"+name, version) {
			return true
		}
	}
	return false
}

// carryOut creates new slices before it deletes old ones: readers use the newest generation, and
// wait until it is complete.
func (p *pools) carryOut(ctx context.Context, todo publication) error {
	var failed []error
	wrote := func(slice *resourcev1.ResourceSlice, err error) {
		if err == nil {
			p.echoes.wrote("slice/"+slice.Name, slice.ResourceVersion)
			return
		}
		failed = append(failed, err)
	}
	for _, slice := range todo.create {
		wrote(p.write.CreateSlice(ctx, slice))
	}
	for _, slice := range todo.update {
		wrote(p.write.UpdateSlice(ctx, slice))
	}
	for _, slice := range todo.remove {
		if err := p.write.DeleteSlice(ctx, slice); err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, err)
			continue
		}
		p.echoes.removed("slice/" + slice.Name)
	}
	return errors.Join(failed...)
}

// onSlice handles a change in the cache of slices.
func (p *pools) onSlice(before, after *resourcev1.ResourceSlice) {
	if after == nil {
		p.echoes.forget("slice/" + before.Name)
		after = before
	}
	if key := poolOf(after); p.desired[key] != nil {
		p.queue.Add(key)
	}
}

// obsoleteSlices returns published slices of the fleet that belong to none of its pools.
func obsoleteSlices(
	all []*resourcev1.ResourceSlice, fleetName string, wanted map[poolKey][]resourcev1.ResourceSlice,
) []*resourcev1.ResourceSlice {
	return slices.DeleteFunc(slices.Clone(all), func(slice *resourcev1.ResourceSlice) bool {
		return slice.Labels[fleet.LabelFleet] != fleetName || wanted[poolOf(slice)] != nil
	})
}
