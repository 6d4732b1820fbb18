package devicetaint

import (
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

const (
	// slicesByPool is an index of slices by pool.
	slicesByPool = "devicetaint-slices-by-pool"
	// claimsByPool is an index of claims by the pools of their devices; all allocated claims are
	// under allocated.
	claimsByPool = "devicetaint-claims-by-pool"
	allocated    = ""
)

func poolKey(driver, pool string) string { return driver + "/" + pool }

func sliceKeys(s *resourcev1.ResourceSlice) []string {
	return []string{poolKey(s.Spec.Driver, s.Spec.Pool.Name)}
}

func claimKeys(claim *resource.ResourceClaim) []string {
	if claim.Status.Allocation == nil {
		return nil
	}
	keys := []string{allocated}
	seen := map[string]bool{}
	for _, r := range claim.Status.Allocation.Devices.Results {
		if key := poolKey(r.Driver, r.Pool); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

func (c *Controller) onPod(before, after *core.Pod) {
	c.evictor.OnPod(before, after)
	for _, pod := range []*core.Pod{before, after} {
		if pod != nil && len(claims.Uses(pod)) > 0 {
			c.evictor.Queue.Add(reconciler.KeyOf(pod))
			return // both have the same name
		}
	}
}

func (c *Controller) onClaim(before, after *resource.ResourceClaim) {
	for _, claim := range []*resource.ResourceClaim{before, after} {
		if claim != nil && claim.Status.Allocation != nil {
			c.wake(claim)
			return // both name the same pods
		}
	}
}

// wake enqueues the pods that name a claim.
func (c *Controller) wake(claim *resource.ResourceClaim) {
	for _, pod := range c.cache.pods.ByIndex(claims.PodIndex, claims.PodIndexKey(claim.Namespace, claim.Name)) {
		c.evictor.Queue.Add(reconciler.KeyOf(pod))
	}
}

// onSlice enqueues the users of a pool's devices if the old or new slice has taints, or hides a
// generation with taints.
func (c *Controller) onSlice(before, after *resourcev1.ResourceSlice) {
	pools := map[string]bool{}
	for _, s := range []*resourcev1.ResourceSlice{before, after} {
		if s != nil {
			pools[sliceKeys(s)[0]] = true
		}
	}
	if before != nil && after != nil && len(pools) == 1 && sameTaints(before, after) {
		return
	}
	for pool := range pools {
		for _, claim := range c.cache.claims.ByIndex(claimsByPool, pool) {
			c.wake(claim)
		}
	}
}

func sameTaints(a, b *resourcev1.ResourceSlice) bool {
	if a.Spec.Pool.Generation != b.Spec.Pool.Generation || len(a.Spec.Devices) != len(b.Spec.Devices) {
		return false
	}
	for i := range a.Spec.Devices {
		x, y := &a.Spec.Devices[i], &b.Spec.Devices[i]
		if x.Name != y.Name || !apiequality.Semantic.DeepEqual(x.Taints, y.Taints) {
			return false
		}
	}
	return true
}

func (c *Controller) onRule(before, after *resourcev1.DeviceTaintRule) {
	if before != nil && (after == nil || after.UID != before.UID) {
		c.mu.Lock()
		delete(c.counts, before.UID)
		c.mu.Unlock()
	}
	if before != nil && after != nil && before.Generation == after.Generation && before.UID == after.UID {
		return // status update
	}
	for _, rule := range []*resourcev1.DeviceTaintRule{before, after} {
		if rule != nil && evicts(rule) {
			for _, claim := range c.selected(rule) {
				c.wake(claim)
			}
		}
	}
	if after != nil {
		c.reports.Add(after.Name)
	}
}

// selected returns the claims with a device that the rule selects.
func (c *Controller) selected(rule *resourcev1.DeviceTaintRule) []*resource.ResourceClaim {
	s := rule.Spec.DeviceSelector
	if s == nil {
		return nil
	}
	key := allocated
	if s.Driver != nil && s.Pool != nil {
		key = poolKey(*s.Driver, *s.Pool)
	}
	var out []*resource.ResourceClaim
	for _, claim := range c.cache.claims.ByIndex(claimsByPool, key) {
		for i := range claim.Status.Allocation.Devices.Results {
			if selects(rule, deviceOf(&claim.Status.Allocation.Devices.Results[i])) {
				out = append(out, claim)
				break
			}
		}
	}
	return out
}
