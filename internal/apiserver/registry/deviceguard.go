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

// unsureFor is longer than etcd takes to write something, or to give it up, and to show what was written.
const unsureFor = 10 * time.Second

// deviceGuard keeps devices from being given to two claims. What a write gains is reserved before it is stored, so that two writes
// through one server never meet; the view tells of other servers' writes, and which of two that met was the first.
type deviceGuard struct {
	stored claimReader
	view   *deviceView
	later  func(func()) // calls it when a write of which nobody knows has come about, or never will

	mu       sync.Mutex // guards underWay; held while a claim is looked up, never while one is written
	underWay map[deviceID][]*deviceWrite
}

func newDeviceGuard(stored claimReader, view *deviceView) *deviceGuard {
	later := func(f func()) { time.AfterFunc(unsureFor, f) }
	return &deviceGuard{stored: stored, view: view, later: later, underWay: map[deviceID][]*deviceWrite{}}
}

// deviceWrite is one write of a claim.
type deviceWrite struct {
	guard  *deviceGuard
	dry    bool // only asks
	claim  claimKey
	gained []gain
}

// gain is a device that a write adds to a claim.
type gain struct {
	id deviceID
	at *field.Path
}

// reserve keeps others from what the claim gains, until the write is settled. It is called again when the write is tried again over a
// newer object.
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
		other, ok, err := w.guard.inTheWay(ctx, w.claim, gain.id)
		if err != nil {
			return err
		}
		if ok {
			return refuse(w.claim, gain, other)
		}
	}
	if w.dry {
		return nil
	}
	w.gained = gained
	for _, gain := range gained {
		id := gain.id.whole()
		w.guard.underWay[id] = append(w.guard.underWay[id], w)
	}
	return nil
}

// settle ends a write that has gained something, and was stored. It is an error that another server has given a device to another claim, before this one
// did and after it had looked, or that nobody can tell; the caller takes back what it wrote then.
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
		if rivals := view.rivals(w.claim, gain.id); len(rivals) > 0 {
			return refuse(w.claim, gain, rivals[0])
		}
		claims := schema.GroupResource{Group: resourceGroup, Resource: "resourceclaims"}
		return apierrors.NewConflict(claims, w.claim.name, fmt.Errorf("%s: it cannot be told that no other claim had the device in that moment", gain.at))
	}
	return nil
}

// keep ends a write that has gained something, was stored, and stays, when the view shows it: until then the guard has to know of it.
func (w *deviceWrite) keep(ctx context.Context, stored *resource.ResourceClaim) {
	if w.guard.view.await(ctx, versionOf(stored.ResourceVersion)) == nil {
		w.end()
	}
}

// end ends a write of which nothing will be stored any more.
func (w *deviceWrite) end() {
	if len(w.gained) == 0 {
		return // others may be looked up under the lock
	}
	w.guard.mu.Lock()
	defer w.guard.mu.Unlock()
	for _, gain := range w.gained {
		id := gain.id.whole()
		left := slices.DeleteFunc(w.guard.underWay[id], func(other *deviceWrite) bool { return other == w })
		if len(left) == 0 {
			delete(w.guard.underWay, id)
		} else {
			w.guard.underWay[id] = left
		}
	}
	w.gained = nil
}

// abandon ends a write of which nobody knows whether it is stored, as the client went away in the midst of it: it may still be.
func (w *deviceWrite) abandon() {
	if len(w.gained) > 0 {
		w.guard.later(w.end)
	}
}

// inTheWay finds another claim that has the device, or a share of it where the whole is wanted, or the other way around; or that is
// about to get it.
func (g *deviceGuard) inTheWay(ctx context.Context, key claimKey, id deviceID) (other claimKey, ok bool, err error) {
	for _, w := range g.underWay[id.whole()] {
		if w.claim != key && w.wants(id) {
			return w.claim, true, nil
		}
	}
	for _, rival := range g.view.rivals(key, id) {
		// The view may not have seen yet that the rival has lost it.
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

// wants says whether the write leaves no room for a share of a device.
func (w *deviceWrite) wants(id deviceID) bool {
	return slices.ContainsFunc(w.gained, func(gain gain) bool { return gain.id.conflicts(id) })
}

// conflicts says whether not both may be given out.
func (d deviceID) conflicts(other deviceID) bool {
	return d.whole() == other.whole() && sharesConflict(d.share, other.share)
}

// refuse names the claim that has the device only to those who may know of it: what is in other namespaces is not for every
// client, and the scheduler tells pods what it was answered.
func refuse(key claimKey, gain gain, other claimKey) error {
	text := "device is allocated to a claim of another namespace"
	if other.namespace == key.namespace {
		text = fmt.Sprintf("device is allocated to claim %s/%s", other.namespace, other.name)
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: resourceGroup, Kind: "ResourceClaim"}, key.name,
		field.ErrorList{field.Invalid(gain.at, gain.id.driver+"/"+gain.id.pool+"/"+gain.id.device, text)})
}

// gainedBy are the devices that a claim keeps others from having, and did not have before.
func gainedBy(claim, old *resource.ResourceClaim) []gain {
	if claim.Status.Allocation == nil {
		return nil
	}
	had := map[deviceID]bool{}
	for _, id := range devicesOf(old) {
		had[id] = true
	}
	var gained []gain
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		if id := resultID(result); exclusive(result) && !had[id] {
			gained = append(gained, gain{id, field.NewPath("status", "allocation", "devices", "results").Index(i)})
		}
	}
	return gained
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

// surelyNotStored says of an error of a write that nothing is stored, now or later: the write was refused.
func surelyNotStored(err error) bool {
	var refusal apierrors.APIStatus
	return errors.As(err, &refusal) && refusal.Status().Code >= http.StatusBadRequest && refusal.Status().Code < http.StatusInternalServerError
}
