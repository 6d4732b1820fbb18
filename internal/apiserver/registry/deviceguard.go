package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// unsureFor is longer than etcd takes to store a write or to abandon it, and to show the result.
const unsureFor = 10 * time.Second

// deviceGuard prevents that a device is allocated to two claims. Devices that a write adds are
// reserved before it is stored, so that two writes through one server never conflict. The view
// shows writes of other servers, and which of two conflicting writes was first.
type deviceGuard struct {
	stored      claimReader
	view        *deviceView
	whenCertain func(func()) // runs a function when it is certain whether a write with an unknown result was stored

	refused func() // called for each write that is refused

	mu       sync.Mutex // guards underWay; held while a claim is read, never while one is written
	underWay map[deviceID][]*deviceWrite
}

func newDeviceGuard(stored claimReader, view *deviceView) *deviceGuard {
	later := func(f func()) { time.AfterFunc(unsureFor, f) }
	return &deviceGuard{
		stored: stored, view: view, whenCertain: later, refused: func() {}, underWay: map[deviceID][]*deviceWrite{},
	}
}

// deviceWrite is one write of a claim.
type deviceWrite struct {
	guard  *deviceGuard
	dry    bool // dry run
	claim  claimKey
	gained []addedDevice
}

// addedDevice is a device that a write adds to a claim.
type addedDevice struct {
	id   deviceID
	path *field.Path
}

// reserve reserves the devices that the write adds to the claim until it is settled. It is called
// again when the write is retried over a newer object.
func (w *deviceWrite) reserve(ctx context.Context, claim, old *resource.ResourceClaim) error {
	w.end()
	gained := gainedBy(claim, old)
	if len(gained) == 0 {
		return nil
	}
	if err := w.guard.view.await(ctx, 1); err != nil {
		return err
	}
	w.guard.mu.Lock()
	defer w.guard.mu.Unlock()
	w.claim = keyOf(claim)
	for _, gain := range gained {
		other, ok, err := w.guard.conflictingClaim(ctx, w.claim, gain.id)
		if err != nil {
			return err
		}
		if ok {
			w.guard.refused()
			return conflictError(w.claim, gain, other)
		}
	}
	if w.dry {
		return nil
	}
	w.gained = gained
	for _, gain := range gained {
		id := gain.id.withoutShare()
		w.guard.underWay[id] = append(w.guard.underWay[id], w)
	}
	return nil
}

// settle ends a write that added a device and was stored. It returns an error if another server
// allocated a device to another claim, after this server had checked and before its write, or if
// that cannot be determined; the caller reverts its write then.
func (w *deviceWrite) settle(ctx context.Context, stored *resource.ResourceClaim) error {
	defer w.end()
	view, version := w.guard.view, versionOf(stored.ResourceVersion)
	if err := view.await(ctx, version); err != nil {
		return err
	}
	for _, gain := range w.gained {
		if view.inTime(w.claim, gain.id, version) {
			continue
		}
		if rivals := view.conflictingClaims(w.claim, gain.id); len(rivals) > 0 {
			w.guard.refused()
			return conflictError(w.claim, gain, rivals[0])
		}
		w.guard.refused()
		claims := schema.GroupResource{Group: resourceGroup, Resource: "resourceclaims"}
		return apierrors.NewConflict(claims, w.claim.name,
			fmt.Errorf("%s: could not verify that the device is allocated exclusively, retry", gain.path))
	}
	return nil
}

// endWhenShown ends a write that added a device and was stored, as soon as the view shows it. Until then
// the guard keeps the reservation.
func (w *deviceWrite) endWhenShown(ctx context.Context, stored *resource.ResourceClaim) {
	if w.guard.view.await(ctx, versionOf(stored.ResourceVersion)) == nil {
		w.end()
	}
}

// end ends a write of which nothing can be stored later.
func (w *deviceWrite) end() {
	if len(w.gained) == 0 {
		return // other claims may be read under the lock
	}
	w.guard.mu.Lock()
	defer w.guard.mu.Unlock()
	for _, gain := range w.gained {
		id := gain.id.withoutShare()
		left := slices.DeleteFunc(w.guard.underWay[id], func(other *deviceWrite) bool { return other == w })
		if len(left) == 0 {
			delete(w.guard.underWay, id)
		} else {
			w.guard.underWay[id] = left
		}
	}
	w.gained = nil
}

// abandon ends a write with an unknown result, because the client disconnected. It may still be
// stored.
func (w *deviceWrite) abandon() {
	if len(w.gained) > 0 {
		w.guard.whenCertain(w.end)
	}
}

// conflictingClaim returns another claim that holds the device, or a conflicting share of it, or that is
// about to get it.
func (g *deviceGuard) conflictingClaim(
	ctx context.Context, key claimKey, id deviceID,
) (other claimKey, ok bool, err error) {
	for _, w := range g.underWay[id.withoutShare()] {
		if w.claim != key && w.wants(id) {
			return w.claim, true, nil
		}
	}
	for _, rival := range g.view.conflictingClaims(key, id) {
		// The view may not show yet that the rival was deallocated.
		stored, err := g.stored.get(ctx, rival)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return claimKey{}, false, err
		case slices.ContainsFunc(devicesOf(stored), id.conflicts):
			return rival, true, nil
		}
	}
	return claimKey{}, false, nil
}

// wants reports whether the write conflicts with an allocation of the device.
func (w *deviceWrite) wants(id deviceID) bool {
	return slices.ContainsFunc(w.gained, func(gain addedDevice) bool { return gain.id.conflicts(id) })
}

// conflicts reports whether two devices or shares cannot both be allocated.
func (d deviceID) conflicts(other deviceID) bool {
	return d.withoutShare() == other.withoutShare() && sharesConflict(d.share, other.share)
}

// conflictError returns an error with the name of the holder, if both claims are in the same namespace.
// Names in other namespaces are not revealed, because the scheduler writes the error into
// conditions of pods.
func conflictError(key claimKey, gain addedDevice, other claimKey) error {
	text := "device is allocated to a claim of another namespace"
	if other.namespace == key.namespace {
		text = fmt.Sprintf("device is allocated to claim %s/%s", other.namespace, other.name)
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: resourceGroup, Kind: "ResourceClaim"}, key.name,
		field.ErrorList{field.Invalid(gain.path, gain.id.driver+"/"+gain.id.pool+"/"+gain.id.device, text)})
}

// gainedBy returns the devices that a claim holds exclusively, and did not before.
func gainedBy(claim, old *resource.ResourceClaim) []addedDevice {
	if claim.Status.Allocation == nil {
		return nil
	}
	had := map[deviceID]bool{}
	for _, id := range devicesOf(old) {
		had[id] = true
	}
	var gained []addedDevice
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		if id := resultID(result); exclusive(result) && !had[id] {
			gained = append(gained, addedDevice{id, field.NewPath("status", "allocation", "devices", "results").Index(i)})
		}
	}
	return gained
}

// devicesOf returns the devices that the claim holds exclusively.
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

// exclusive reports whether a result excludes other claims from the same device or share.
func exclusive(r *resourcev1.DeviceRequestAllocationResult) bool {
	return r.AdminAccess == nil || !*r.AdminAccess
}

// surelyNotStored reports whether the error of a write means that nothing is or will be stored: the
// write was rejected.
func surelyNotStored(err error) bool {
	var refusal apierrors.APIStatus
	return errors.As(err, &refusal) && refusal.Status().Code >= http.StatusBadRequest &&
		refusal.Status().Code < http.StatusInternalServerError
}
