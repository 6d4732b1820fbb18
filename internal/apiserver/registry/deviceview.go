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
	// watchAgain is the delay between the end of a watch and the next one.
	watchAgain = 5 * time.Millisecond
	// lookAgain is the delay between two lists of all claims.
	lookAgain = 100 * time.Millisecond
)

// deviceView has the allocated devices of all claims, as shown by a watch. It lags behind the
// storage, and sees the writes of all API servers on one etcd, in the order in which they were
// stored.
type deviceView struct {
	doubled func(claimKey) // called when a claim was allocated a device too late

	mu       sync.Mutex
	version  uint64        // all writes up to this version were seen; 0 before the first list
	changed  chan struct{} // closed and replaced when version changes
	holdings map[deviceID][]holding
	claims   map[claimKey][]deviceID
}

// holding is a device of a claim.
type holding struct {
	claim claimKey
	share string // "" for the whole device
	since uint64 // version of the write that allocated it; 0 if that was not seen
	late  bool   // another claim held it at that version
}

// sharesConflict reports whether two shares of one device cannot both be allocated.
func sharesConflict(a, b string) bool { return a == "" || b == "" || a == b }

func newDeviceView(doubled func(claimKey)) *deviceView {
	return &deviceView{
		doubled:  doubled,
		changed:  make(chan struct{}),
		holdings: map[deviceID][]holding{},
		claims:   map[claimKey][]deviceID{},
	}
}

// run keeps the view up to date until ctx ends.
func (v *deviceView) run(ctx context.Context, claims claimReader) {
	for ctx.Err() == nil {
		err := v.follow(ctx, claims)
		klog.FromContext(ctx).V(2).Info("Listing the devices of all claims again", "reason", err)
		pause(ctx, lookAgain)
	}
}

// follow lists all claims and then watches them, as long as the server can continue from the end of
// the last watch. The server ends watches that are too slow in a burst of events.
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

// watch applies all events after those already seen, until the watch ends.
func (v *deviceView) watch(ctx context.Context, claims claimReader) error {
	w, err := claims.watch(ctx, v.currentVersion())
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
			object = shared.GetObject() // encoded once for all watchers
		}
		v.onChange(object.(*resource.ResourceClaim), event.Type == watch.Deleted)
	}
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// reset replaces the state by a list of claims. Which claim held a device first is unknown then.
func (v *deviceView) reset(list *resource.ResourceClaimList) {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.holdings)
	clear(v.claims)
	for i := range list.Items {
		v.put(&list.Items[i], 0)
	}
	v.setVersion(versionOf(list.ResourceVersion))
}

// onChange applies a change of a claim.
func (v *deviceView) onChange(claim *resource.ResourceClaim, deleted bool) {
	if v.apply(claim, deleted) {
		v.doubled(keyOf(claim))
	}
}

// apply applies a change of a claim, and reports whether the claim was allocated a device too late.
func (v *deviceView) apply(claim *resource.ResourceClaim, deleted bool) (late bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	version := versionOf(claim.ResourceVersion)
	if deleted {
		claim = &resource.ResourceClaim{ObjectMeta: claim.ObjectMeta}
	}
	late = v.put(claim, version)
	v.setVersion(version)
	return late
}

func (v *deviceView) setVersion(version uint64) {
	v.version = version
	close(v.changed)
	v.changed = make(chan struct{})
}

// currentVersion returns the version up to which all writes were seen, for a watch.
func (v *deviceView) currentVersion() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strconv.FormatUint(v.version, 10)
}

// put records the devices of a claim, and the version for new ones. It reports whether any of them
// came too late.
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
			v.holdings[id.withoutShare()] = append(v.holdings[id.withoutShare()], h)
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
	left := slices.DeleteFunc(v.holdings[id.withoutShare()],
		func(h holding) bool { return h.claim == key && h.share == id.share })
	if len(left) == 0 {
		delete(v.holdings, id.withoutShare())
	} else {
		v.holdings[id.withoutShare()] = left
	}
}

// await returns when all writes up to a version were seen; version 1 means any.
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
			return fmt.Errorf("list the allocated devices: %w", context.Cause(ctx))
		case <-changed:
		}
	}
}

// conflictingClaims returns other claims with conflicting allocations of the device, sorted by name.
func (v *deviceView) conflictingClaims(key claimKey, id deviceID) []claimKey {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.holders(key, id)
}

func (v *deviceView) holders(key claimKey, id deviceID) []claimKey {
	var found []claimKey
	for _, h := range v.holdings[id.withoutShare()] {
		if h.claim != key && sharesConflict(h.share, id.share) {
			found = append(found, h.claim)
		}
	}
	slices.SortFunc(found, claimKey.compare)
	return slices.Compact(found)
}

// inTime reports whether the view saw that a claim was allocated a device with the write of a
// version, before others, and still holds it. All views that saw the write agree on that, whatever
// happened since.
func (v *deviceView) inTime(key claimKey, id deviceID, version uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.holdings[id.withoutShare()], func(h holding) bool {
		return h.claim == key && h.share == id.share && h.since == version && !h.late
	})
}

// late reports whether a claim holds a device that it was allocated too late.
func (v *deviceView) late(key claimKey) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.claims[key], func(id deviceID) bool {
		return slices.ContainsFunc(v.holdings[id.withoutShare()],
			func(h holding) bool { return h.claim == key && h.share == id.share && h.late })
	})
}

func (k claimKey) compare(other claimKey) int {
	return cmp.Or(cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.name, other.name))
}

// withoutShare returns the device without the share.
func (d deviceID) withoutShare() deviceID {
	d.share = ""
	return d
}

// versionOf parses the resource version of a stored object, which is a number.
func versionOf(resourceVersion string) uint64 {
	version, _ := strconv.ParseUint(resourceVersion, 10, 64)
	return version
}
