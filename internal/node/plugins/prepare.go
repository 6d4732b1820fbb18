package plugins

import (
	"context"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// call is a call of one driver for several claims.
type call struct {
	plugin *plugin
	claims []*drav1.Claim
}

// prepare has the drivers prepare those of the claims that are not prepared yet. Its errors have
// the texts of a kubelet.
func (n *node) prepare(ctx context.Context, pod *core.Pod, claims []*resource.ResourceClaim) error {
	claims = n.real(claims)
	unlock, err := n.claims.lock(ctx, uidsOf(claims))
	if err != nil {
		return err
	}
	defer unlock()
	calls, err := n.recordUse(pod, claims)
	if err != nil {
		return err
	}
	for _, c := range calls {
		response, err := c.plugin.prepare(ctx, c.claims)
		if err != nil {
			return fmt.Errorf("NodePrepareResources: %w", err)
		}
		if err := n.recordDevices(c, response); err != nil {
			return err
		}
	}
	return n.recordPrepared(claims)
}

func uidsOf(claims []*resource.ResourceClaim) []types.UID {
	var out []types.UID
	for _, claim := range claims {
		out = append(out, claim.UID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// recordUse records that the pod uses the claims, and returns the calls to make. It records nothing
// if a driver is not registered, even if it has prepared the claim: something is wrong then.
func (n *node) recordUse(pod *core.Pod, claims []*resource.ResourceClaim) ([]call, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var used []*record
	for _, claim := range claims {
		r, err := n.recordOf(claim)
		if err != nil {
			return nil, err
		}
		for _, driver := range r.driversFor(resourcev1.SkipNodeOperationNodePrepareResources) {
			if _, err := n.drivers.get(driver); err != nil {
				return nil, err
			}
		}
		used = append(used, r)
	}
	for _, r := range used {
		r.Pods[pod.UID] = pod.Name
		n.records.claims[r.key()] = r
	}
	if err := n.records.save(); err != nil {
		return nil, err
	}
	used = slices.DeleteFunc(used, func(r *record) bool { return r.prepared })
	return n.calls(used, resourcev1.SkipNodeOperationNodePrepareResources)
}

// recordOf returns the record of the claim, or a new one. The lock must be held.
func (n *node) recordOf(claim *resource.ResourceClaim) (*record, error) {
	r := n.records.claims[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}]
	switch {
	case r == nil:
		return newRecord(claim, n.realDrivers(claim)), nil
	case r.UID != claim.UID:
		return nil, fmt.Errorf(
			"old ResourceClaim with same name %s and different UID %s still exists (previous pod force-deleted?!)", r.Name,
			r.UID,
		)
	case r.leaving:
		return nil, fmt.Errorf("ResourceClaim %s is being unprepared", r.Name)
	}
	return r, nil
}

// calls returns one call for each driver, in the order of their names. The lock must be held.
func (n *node) calls(claims []*record, op resourcev1.SkipNodeOperation) ([]call, error) {
	ofDriver := map[string]*call{}
	var order []string
	for _, r := range claims {
		for _, driver := range r.driversFor(op) {
			if ofDriver[driver] == nil {
				p, err := n.drivers.get(driver)
				if err != nil {
					return nil, err
				}
				ofDriver[driver] = &call{plugin: p}
				order = append(order, driver)
			}
			c := ofDriver[driver]
			c.claims = append(c.claims, &drav1.Claim{Namespace: r.Namespace, Name: r.Name, Uid: string(r.UID)})
		}
	}
	slices.Sort(order)
	var out []call
	for _, driver := range order {
		out = append(out, *ofDriver[driver])
	}
	return out, nil
}

// recordDevices keeps the devices that a driver has prepared.
func (n *node) recordDevices(c call, response *drav1.NodePrepareResourcesResponse) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for uid, result := range response.GetClaims() {
		claim := c.claim(uid)
		if claim == nil {
			return fmt.Errorf("NodePrepareResources returned result for unknown claim UID %s", uid)
		}
		if result.GetError() != "" {
			return fmt.Errorf("NodePrepareResources failed for ResourceClaim %s: %s", claim.Name, result.GetError())
		}
		r := n.records.claims[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}]
		r.Drivers[c.plugin.driver] = devicesFrom(result.GetDevices())
	}
	if left := len(c.claims) - len(response.GetClaims()); left != 0 {
		return fmt.Errorf("NodePrepareResources skipped %d ResourceClaims", left)
	}
	return nil
}

func (c call) claim(uid string) *drav1.Claim {
	if i := slices.IndexFunc(c.claims, func(claim *drav1.Claim) bool { return claim.Uid == uid }); i >= 0 {
		return c.claims[i]
	}
	return nil
}

func devicesFrom(devices []*drav1.Device) []Device {
	var out []Device
	for _, d := range devices {
		out = append(out, Device{
			Pool: d.GetPoolName(), Device: d.GetDeviceName(), Requests: d.GetRequestNames(),
			CDI: d.GetCdiDeviceIds(), ShareID: types.UID(d.GetShareId()),
		})
	}
	return out
}

func (n *node) recordPrepared(claims []*resource.ResourceClaim) error {
	if len(claims) == 0 {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, claim := range claims {
		n.records.claims[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}].prepared = true
	}
	return n.records.save()
}
