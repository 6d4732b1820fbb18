package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

const (
	// watchAgain is the time between a watch that has ended and the one that takes over from it.
	watchAgain = 5 * time.Millisecond
	// lookAgain is the time between two looks at all claims.
	lookAgain = 100 * time.Millisecond
)

// deviceView is who has which device, as a watch of the claims shows it. It lags behind what is stored, and sees what all API servers
// on one etcd write, in the order in which it was stored.
type deviceView struct {
	doubled func(claimKey) // called when it is shown that a claim gained a device too late

	mu       sync.Mutex
	version  uint64        // all that was stored up to it was seen; 0 before the first look
	changed  chan struct{} // closed when version changes, and made anew
	holdings map[deviceID][]holding
	claims   map[claimKey][]deviceID
}

// holding is what a claim has of a device.
type holding struct {
	claim claimKey
	share string // "" for the whole of it
	since uint64 // version of the write by which it got it; 0 if that was not seen
	late  bool   // another claim had it at that version
}

// sharesConflict says whether not both parts of one device may be given out.
func sharesConflict(a, b string) bool { return a == "" || b == "" || a == b }

func newDeviceView(doubled func(claimKey)) *deviceView {
	return &deviceView{doubled: doubled, changed: make(chan struct{}), holdings: map[deviceID][]holding{}, claims: map[claimKey][]deviceID{}}
}

// run keeps the view up to date until ctx is done.
func (v *deviceView) run(ctx context.Context, claims claimReader) {
	for ctx.Err() == nil {
		err := v.follow(ctx, claims)
		klog.FromContext(ctx).V(2).Info("looking anew which claims have which devices", "reason", err)
		pause(ctx, lookAgain)
	}
}

// follow looks at all claims and then at what becomes of them, as long as the server remembers where a watch has ended. It ends
// watches that do not keep up in a burst.
func (v *deviceView) follow(ctx context.Context, claims claimReader) error {
	list, err := claims.all(ctx)
	if err != nil {
		return err
	}
	v.reset(list)
	for {
		if err := v.watch(ctx, claims); err != nil {
			return err
		}
		pause(ctx, watchAgain)
	}
}

// watch takes what happens after all that was seen, until the watch ends.
func (v *deviceView) watch(ctx context.Context, claims claimReader) error {
	w, err := claims.watch(ctx, v.reached())
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		object := event.Object
		if shared, ok := object.(runtime.CacheableObject); ok {
			object = shared.GetObject() // encoded once for all who watch
		}
		v.show(object.(*resource.ResourceClaim), event.Type == watch.Deleted)
	}
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// reset begins anew with what is stored. Who had a device first is not known then.
func (v *deviceView) reset(list *resource.ResourceClaimList) {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.holdings)
	clear(v.claims)
	for i := range list.Items {
		v.put(&list.Items[i], 0)
	}
	v.reach(versionOf(list.ResourceVersion))
}

// show takes a change of a claim.
func (v *deviceView) show(claim *resource.ResourceClaim, deleted bool) {
	if v.take(claim, deleted) {
		v.doubled(keyOf(claim))
	}
}

// take takes a change of a claim, and says whether the claim has something that it got too late.
func (v *deviceView) take(claim *resource.ResourceClaim, deleted bool) (late bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	version := versionOf(claim.ResourceVersion)
	if deleted {
		claim = &resource.ResourceClaim{ObjectMeta: claim.ObjectMeta}
	}
	late = v.put(claim, version)
	v.reach(version)
	return late
}

func (v *deviceView) reach(version uint64) {
	v.version = version
	close(v.changed)
	v.changed = make(chan struct{})
}

// reached is the version up to which all is seen, as a watch wants it.
func (v *deviceView) reached() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strconv.FormatUint(v.version, 10)
}

// put notes what a claim has, and since when what it did not have before. It says whether any of that came too late.
func (v *deviceView) put(claim *resource.ResourceClaim, version uint64) (late bool) {
	key, devices := keyOf(claim), devicesOf(claim)
	for _, id := range v.claims[key] {
		if !slices.Contains(devices, id) {
			v.drop(key, id)
		}
	}
	for _, id := range devices {
		if !slices.Contains(v.claims[key], id) {
			h := holding{claim: key, share: id.share, since: version, late: version > 0 && len(v.holders(key, id)) > 0}
			v.holdings[id.whole()] = append(v.holdings[id.whole()], h)
			late = late || h.late
		}
	}
	if len(devices) == 0 {
		delete(v.claims, key)
	} else {
		v.claims[key] = devices
	}
	return late
}

func (v *deviceView) drop(key claimKey, id deviceID) {
	left := slices.DeleteFunc(v.holdings[id.whole()], func(h holding) bool { return h.claim == key && h.share == id.share })
	if len(left) == 0 {
		delete(v.holdings, id.whole())
	} else {
		v.holdings[id.whole()] = left
	}
}

// await returns when everything was seen that was stored up to a version; of 1, that is anything at all.
func (v *deviceView) await(ctx context.Context, version uint64) error {
	for {
		v.mu.Lock()
		reached, changed := v.version >= version, v.changed
		v.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("learn which claims have which devices: %w", context.Cause(ctx))
		case <-changed:
		}
	}
}

// rivals are other claims that have what the device's share leaves no room for, the first by name first.
func (v *deviceView) rivals(key claimKey, id deviceID) []claimKey {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.holders(key, id)
}

func (v *deviceView) holders(key claimKey, id deviceID) []claimKey {
	var found []claimKey
	for _, h := range v.holdings[id.whole()] {
		if h.claim != key && sharesConflict(h.share, id.share) {
			found = append(found, h.claim)
		}
	}
	slices.SortFunc(found, claimKey.compare)
	return slices.Compact(found)
}

// inTime says whether it was seen that a claim got a device with the write of a version, before others did, and still has it. All views that saw the
// write say the same of it, whatever has happened since.
func (v *deviceView) inTime(key claimKey, id deviceID, version uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.holdings[id.whole()], func(h holding) bool {
		return h.claim == key && h.share == id.share && h.since == version && !h.late
	})
}

// late says whether a claim has a device that it got too late.
func (v *deviceView) late(key claimKey) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.claims[key], func(id deviceID) bool {
		return slices.ContainsFunc(v.holdings[id.whole()], func(h holding) bool { return h.claim == key && h.share == id.share && h.late })
	})
}

func (k claimKey) compare(other claimKey) int {
	return cmp.Or(cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.name, other.name))
}

// whole is the device without the share.
func (d deviceID) whole() deviceID {
	d.share = ""
	return d
}

// versionOf reads the version of something that is stored: a number there.
func versionOf(resourceVersion string) uint64 {
	version, _ := strconv.ParseUint(resourceVersion, 10, 64)
	return version
}
