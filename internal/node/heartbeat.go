package node

import (
	"context"
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/fleet"
)

const (
	// DefaultLeaseDuration is how long the Lease of a fleet is valid, as that of a kubelet.
	DefaultLeaseDuration = 40 * time.Second
	// renewAgain is how long a renewal that failed waits for the next.
	renewAgain = time.Second
)

// leaseWriter writes the Lease of the fleet.
type leaseWriter interface {
	// RenewLease sets the spec of the Lease, which it creates if there is none.
	RenewLease(ctx context.Context, lease *coordinationv1.Lease) error
}

// heartbeat renews the one Lease of a fleet, which is a sign of life of all nodes that name it
// (docs/adr/0008).
type heartbeat struct {
	fleet    string
	write    leaseWriter
	clock    clock.WithTicker
	duration time.Duration
}

// run renews the Lease until ctx ends.
func (h *heartbeat) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := h.duration / 4
		if err := h.write.RenewLease(ctx, h.lease()); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "the lease of the fleet was not renewed", "fleet", h.fleet)
			wait = min(wait, renewAgain)
		}
		select {
		case <-ctx.Done():
		case <-h.clock.After(wait):
		}
	}
}

// lease returns the Lease as it is renewed now.
func (h *heartbeat) lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: fleet.LeaseName(h.fleet)},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       &h.fleet,
			LeaseDurationSeconds: new(int32(max(1, h.duration/time.Second))),
			RenewTime:            &metav1.MicroTime{Time: h.clock.Now()},
		},
	}
}

func (s server) RenewLease(ctx context.Context, lease *coordinationv1.Lease) error {
	patch, err := json.Marshal(map[string]any{"spec": lease.Spec})
	if err != nil {
		return err
	}
	leases := s.set.Leases(lease.Namespace)
	_, err = leases.Patch(ctx, lease.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	}
	return err
}
