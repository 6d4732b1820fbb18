package registry

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// guardedStatus serves the status of claims, and refuses one that gives a device to two claims: each claim is an object
// of its own, so versions do not keep two schedulers from that (F64, docs/adr/0004).
type guardedStatus struct {
	*part
	guard *deviceGuard
}

func newGuardedStatus(store *genericregistry.Store) *guardedStatus {
	type claims = strategy[resource.ResourceClaim, *resource.ResourceClaim]
	s := statusStrategy[resource.ResourceClaim, *resource.ResourceClaim]{store.UpdateStrategy.(claims)}
	return &guardedStatus{part: newPart(store, s), guard: newDeviceGuard(storedClaims{store})}
}

// Update implements rest.Updater.
func (g *guardedStatus) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, force bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	w := deviceWrite{guard: g.guard, dry: len(options.DryRun) > 0}
	check := func(ctx context.Context, obj, old runtime.Object) error {
		if err := w.reserve(ctx, obj.(*resource.ResourceClaim), old.(*resource.ResourceClaim)); err != nil || update == nil {
			return err
		}
		return update(ctx, obj, old)
	}
	out, created, err := g.part.Update(ctx, name, info, create, check, force, options)
	if err == nil {
		w.finish(out.(*resource.ResourceClaim), true)
	} else {
		w.finish(nil, apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err))
	}
	return out, created, err
}

type claimKey struct {
	namespace, name string
}

func keyOf(c *resource.ResourceClaim) claimKey { return claimKey{c.Namespace, c.Name} }

// claimReader reads claims as they are stored, past all caches.
type claimReader interface {
	all(ctx context.Context) ([]resource.ResourceClaim, error)
	get(ctx context.Context, key claimKey) (*resource.ResourceClaim, error)
}

// deviceGuard knows which claim has which device. It may believe that a claim still has one that it has lost (a write
// of which the outcome is unknown, a claim that was deleted), never the other way around: so who stands in
// the way is read before anybody is refused.
type deviceGuard struct {
	stored claimReader
	later  func(func()) // calls it when a write of which nobody knows has come about, or never will

	mu     sync.Mutex // guards all that follows, and is never held while a claim is written
	loaded bool
	holds  map[deviceID]map[string]claimKey // who has the device by share, "" for the whole of it
	claims map[claimKey]*heldDevices
}

// heldDevices are those that a claim has, or may get by a write that is under way.
type heldDevices struct {
	version uint64 // of the newest write that succeeded; the largest number if that is not known
	writes  int    // under way
	devices []deviceID
}

// unsureFor is longer than etcd takes to write something, or to give it up.
const unsureFor = 10 * time.Second

func newDeviceGuard(stored claimReader) *deviceGuard {
	later := func(f func()) { time.AfterFunc(unsureFor, f) }
	return &deviceGuard{stored: stored, later: later, holds: map[deviceID]map[string]claimKey{}, claims: map[claimKey]*heldDevices{}}
}

// devicesOf are the devices that the claim keeps others from having.
func devicesOf(c *resource.ResourceClaim) []deviceID {
	if c.Status.Allocation == nil {
		return nil
	}
	var list []deviceID
	for i := range c.Status.Allocation.Devices.Results {
		if r := &c.Status.Allocation.Devices.Results[i]; exclusive(r) {
			list = append(list, resultID(r))
		}
	}
	return list
}

// exclusive says whether a result keeps others from having the same.
func exclusive(r *resourcev1.DeviceRequestAllocationResult) bool {
	return r.AdminAccess == nil || !*r.AdminAccess
}

// deviceWrite is one write of a claim.
type deviceWrite struct {
	guard *deviceGuard
	dry   bool      // only asks
	held  *claimKey // nil until it has reserved
}

// reserve has the claim hold what it gains, until finish says how the write ended. It is called again when the write is
// tried again over a newer object.
func (w *deviceWrite) reserve(ctx context.Context, claim, old *resource.ResourceClaim) error {
	g := w.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.load(ctx); err != nil {
		return err
	}
	if err := g.check(ctx, claim, old); err != nil || w.dry {
		return err
	}
	key := keyOf(claim)
	if w.held == nil {
		w.held = &key
		g.claim(key).writes++
	}
	for _, id := range devicesOf(claim) {
		g.hold(key, id)
	}
	return nil
}

// finish takes note of what was stored, nil for nothing. Where that is not known, as the client went away in the midst
// of it, the write may still come about: it counts as under way for a while, and only a look at what is stored can
// tell then what the claim holds.
func (w *deviceWrite) finish(stored *resource.ResourceClaim, known bool) {
	if w.held == nil {
		return
	}
	g := w.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	held := g.claim(*w.held)
	if !known {
		held.version = math.MaxUint64
		g.later(func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			held.writes--
		})
		return
	}
	held.writes--
	if stored != nil {
		g.learn(stored)
	}
}

// check refuses a claim that gains a device that another has.
func (g *deviceGuard) check(ctx context.Context, claim, old *resource.ResourceClaim) error {
	had := map[deviceID]bool{}
	for _, id := range devicesOf(old) {
		had[id] = true
	}
	if claim.Status.Allocation == nil {
		return nil
	}
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		id := resultID(result)
		if !exclusive(result) || had[id] {
			continue
		}
		other, err := g.inTheWay(ctx, keyOf(claim), id)
		if err != nil {
			return err
		}
		if other != (claimKey{}) {
			at := field.NewPath("status", "allocation", "devices", "results").Index(i)
			text := fmt.Sprintf("device is allocated to claim %s/%s", other.namespace, other.name)
			return apierrors.NewInvalid(schema.GroupKind{Group: resourceGroup, Kind: "ResourceClaim"}, claim.Name,
				field.ErrorList{field.Invalid(at, id.driver+"/"+id.pool+"/"+id.device, text)})
		}
	}
	return nil
}

// learn brings what a claim holds up to date, unless something newer is known.
func (g *deviceGuard) learn(claim *resource.ResourceClaim) {
	key := keyOf(claim)
	held := g.claim(key)
	version, _ := strconv.ParseUint(claim.ResourceVersion, 10, 64) // of what is stored it is a number
	if version < held.version {
		return
	}
	held.version = version
	if held.writes > 0 {
		return // what is under way may be newer
	}
	for _, id := range held.devices {
		g.drop(key, id)
	}
	held.devices = nil
	for _, id := range devicesOf(claim) {
		g.hold(key, id)
	}
	if len(held.devices) == 0 {
		delete(g.claims, key)
	}
}

// inTheWay finds another claim that has the device, or a share of it where the whole is wanted, or the other way around.
func (g *deviceGuard) inTheWay(ctx context.Context, key claimKey, id deviceID) (claimKey, error) {
	for {
		other, ok := g.otherHolder(key, id)
		if !ok {
			return claimKey{}, nil
		}
		if g.claim(other).writes > 0 {
			return other, nil
		}
		stored, err := g.stored.get(ctx, other)
		switch {
		case apierrors.IsNotFound(err):
			stored = &resource.ResourceClaim{}
			stored.Namespace, stored.Name = other.namespace, other.name
		case err != nil:
			return claimKey{}, err
		}
		g.claim(other).version = 0 // nothing is newer than what is stored
		g.learn(stored)
		if now, ok := g.otherHolder(key, id); ok && now == other {
			return other, nil
		}
	}
}

func (g *deviceGuard) otherHolder(key claimKey, id deviceID) (claimKey, bool) {
	var found claimKey
	for share, holder := range g.holds[id.whole()] {
		if holder != key && (id.share == "" || share == "" || share == id.share) && (found == claimKey{} || holder.before(found)) {
			found = holder
		}
	}
	return found, found != claimKey{}
}

func (k claimKey) before(other claimKey) bool {
	return cmp.Or(cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.name, other.name)) < 0
}

func (g *deviceGuard) claim(key claimKey) *heldDevices {
	held, ok := g.claims[key]
	if !ok {
		held = &heldDevices{}
		g.claims[key] = held
	}
	return held
}

func (g *deviceGuard) hold(key claimKey, id deviceID) {
	shares := g.holds[id.whole()]
	if shares == nil {
		shares = map[string]claimKey{}
		g.holds[id.whole()] = shares
	}
	if shares[id.share] != key {
		shares[id.share] = key
		held := g.claim(key)
		held.devices = append(held.devices, id)
	}
}

func (g *deviceGuard) drop(key claimKey, id deviceID) {
	shares := g.holds[id.whole()]
	if shares[id.share] == key {
		delete(shares, id.share)
	}
	if len(shares) == 0 {
		delete(g.holds, id.whole())
	}
}

// whole is the device without the share.
func (d deviceID) whole() deviceID {
	d.share = ""
	return d
}

// load takes in what is stored when the first claim is written. Until then nobody can have reserved anything.
func (g *deviceGuard) load(ctx context.Context) error {
	if g.loaded {
		return nil
	}
	list, err := g.stored.all(ctx)
	if err != nil {
		return fmt.Errorf("read which claims have which devices: %w", err)
	}
	for i := range list {
		g.learn(&list[i])
	}
	g.loaded = true
	return nil
}

// storedClaims reads claims from a store.
type storedClaims struct {
	store *genericregistry.Store
}

func (s storedClaims) all(ctx context.Context) ([]resource.ResourceClaim, error) {
	list, err := s.store.List(genericapirequest.WithNamespace(ctx, ""), &internalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.(*resource.ResourceClaimList).Items, nil
}

func (s storedClaims) get(ctx context.Context, key claimKey) (*resource.ResourceClaim, error) {
	obj, err := s.store.Get(genericapirequest.WithNamespace(ctx, key.namespace), key.name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return obj.(*resource.ResourceClaim), nil
}
