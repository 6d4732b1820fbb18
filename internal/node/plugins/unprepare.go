package plugins

import (
	"context"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// unprepare ends the pod's use of its claims, and has the drivers unprepare those that no other pod
// uses. Its errors have the texts of a kubelet.
func (n *node) unprepare(ctx context.Context, pod *core.Pod) error {
	unlock, err := n.claims.lock(ctx, n.claimsOf(pod.UID))
	if err != nil {
		return err
	}
	defer unlock()
	last, calls, err := n.recordEnd(pod.UID)
	if err != nil {
		return err
	}
	for _, c := range calls {
		response, err := c.plugin.unprepare(ctx, c.claims)
		if err != nil {
			return fmt.Errorf("NodeUnprepareResources: %w", err)
		}
		if err := checkUnprepared(c, response); err != nil {
			return err
		}
	}
	return n.forget(last)
}

// claimsOf returns the UIDs of the claims that the pod uses. No claim is added while the pod ends.
func (n *node) claimsOf(pod types.UID) []types.UID {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []types.UID
	for _, r := range n.records.usedBy(pod) {
		out = append(out, r.UID)
	}
	slices.Sort(out)
	return out
}

// recordEnd removes the pod from the claims that other pods use, and returns those that it used
// last, with the calls to make.
func (n *node) recordEnd(pod types.UID) (last []*record, calls []call, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed := false
	for _, r := range n.records.usedBy(pod) {
		if len(r.Pods) > 1 {
			delete(r.Pods, pod)
			changed = true
			continue
		}
		r.leaving = true
		last = append(last, r)
	}
	if changed {
		if err := n.records.save(); err != nil {
			return nil, nil, err
		}
	}
	calls, err = n.calls(last, resourcev1.SkipNodeOperationNodeUnprepareResources)
	return last, calls, err
}

func checkUnprepared(c call, response *drav1.NodeUnprepareResourcesResponse) error {
	for uid, result := range response.GetClaims() {
		claim := c.claim(uid)
		if claim == nil {
			return fmt.Errorf("NodeUnprepareResources returned result for unknown claim UID %s", uid)
		}
		if result.GetError() != "" {
			return fmt.Errorf("NodeUnprepareResources failed for ResourceClaim %s: %s", claim.Name, result.GetError())
		}
	}
	if left := len(c.claims) - len(response.GetClaims()); left != 0 {
		return fmt.Errorf("NodeUnprepareResources skipped %d ResourceClaims", left)
	}
	return nil
}

// forget deletes the records of claims that have been unprepared.
func (n *node) forget(claims []*record) error {
	if len(claims) == 0 {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range claims {
		delete(n.records.claims, r.key())
	}
	return n.records.save()
}
