package attach

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

const (
	// reasonDouble is the reason of events on claims that share a device.
	reasonDouble = "DeviceAllocatedTwice"
	// reasonPutBack is the reason of the event on a pod that is deleted because its device belongs
	// to another claim.
	reasonPutBack = "DeviceOfAnotherClaim"

	claimsByDevice = "claims-by-device"
)

// doubleWriter makes the writes of DoubleAllocationController, each for a specific version of the
// object.
type doubleWriter interface {
	Deallocate(ctx context.Context, claim *resource.ResourceClaim) error
	DeletePod(ctx context.Context, pod *core.Pod) error
}

// DoubleAllocationController finds devices that are allocated to two claims. The API server of
// another cluster permits that if two schedulers allocate the same devices (F64). The claim that
// was allocated first keeps the device. The other one is deallocated if it belongs to this
// scheduler and no container of its pods has started; its bound pods are deleted. All other cases
// are reported by events.
type DoubleAllocationController struct {
	own      string                           // spec.schedulerName of this scheduler
	claims   indexed[*resource.ResourceClaim] // by claimsByDevice
	pods     indexed[*core.Pod]               // by claims.PodIndex
	write    doubleWriter
	events   reconciler.Recorder
	reported eventDeduper
	run      func(context.Context) error
}

// NewDoubleAllocationController returns the controller on inf's caches. It must be called before
// they are started.
func NewDoubleAllocationController(
	set *client.Set, inf *client.Informers, events reconciler.Recorder, own string,
) (*DoubleAllocationController, error) {
	d := &DoubleAllocationController{
		own:    own,
		claims: inf.ResourceClaims(),
		pods:   inf.Pods(),
		write:  doubleServer{set},
		events: events,
	}
	if err := inf.ResourceClaims().AddIndex(claimsByDevice, exclusive); err != nil {
		return nil, err
	}
	if err := inf.Pods().AddIndex(claims.PodIndex, claims.PodIndexKeys); err != nil {
		return nil, err
	}
	runner := reconciler.New(Double, d.Reconcile, reconciler.Options{Workers: 1, Ready: inf.WaitForSync})
	d.run = runner.Run
	inf.ResourceClaims().OnChange(func(before, now *resource.ResourceClaim) {
		switch {
		case now == nil:
			d.reported.isNew(before.UID, "")
		case now.Status.Allocation != nil && (before == nil || before.UID != now.UID || before.Status.Allocation == nil):
			runner.Add(reconciler.KeyOf(now))
		}
	})
	return d, nil
}

// Run reconciles until ctx is done.
func (d *DoubleAllocationController) Run(ctx context.Context) error { return d.run(ctx) }

// exclusive returns the devices that the claim does not share, as keys of claimsByDevice.
func exclusive(claim *resource.ResourceClaim) []string {
	if claim.Status.Allocation == nil {
		return nil
	}
	var out []string
	for i := range claim.Status.Allocation.Devices.Results {
		r := &claim.Status.Allocation.Devices.Results[i]
		if r.ShareID == nil && !ptr.Deref(r.AdminAccess, false) {
			out = append(out, r.Driver+"/"+r.Pool+"/"+r.Device)
		}
	}
	return out
}

// Reconcile checks the devices of one claim.
func (d *DoubleAllocationController) Reconcile(ctx context.Context, key types.NamespacedName) error {
	claim, ok := d.claims.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	for _, device := range exclusive(claim) {
		holders := slices.Clone(d.claims.ByIndex(claimsByDevice, device))
		if len(holders) < 2 {
			continue
		}
		slices.SortFunc(holders, compareAllocationTimes)
		for _, loser := range holders[1:] {
			if err := d.resolveDouble(ctx, device, holders[0], loser); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareAllocationTimes compares two claims by the time of their allocation, or of their creation if that is
// unknown.
func compareAllocationTimes(a, b *resource.ResourceClaim) int {
	since := func(c *resource.ResourceClaim) *metav1.Time {
		if t := c.Status.Allocation.AllocationTimestamp; t != nil {
			return t
		}
		return &c.CreationTimestamp
	}
	if x, y := since(a), since(b); !x.Equal(y) {
		return x.Compare(y.Time)
	}
	return cmp.Compare(a.UID, b.UID)
}

// resolveDouble deallocates the loser, or reports why it is kept.
func (d *DoubleAllocationController) resolveDouble(
	ctx context.Context, device string, winner, loser *resource.ResourceClaim,
) error {
	pods := d.consumers(loser)
	text := fmt.Sprintf("device %s belongs to ResourceClaim %s/%s, too, which had it before", device, winner.Namespace,
		winner.Name)
	switch {
	case !d.isOurs(loser, pods):
		text += "; another scheduler has to put this one back"
	case slices.ContainsFunc(pods, hasStarted):
		text += "; pods run with it, so that it stays"
	default:
		d.report(loser, text+"; it is put back")
		return d.putBack(ctx, loser, pods)
	}
	d.report(loser, text)
	d.report(winner, fmt.Sprintf("device %s was given to ResourceClaim %s/%s, too", device, loser.Namespace, loser.Name))
	return nil
}

func (d *DoubleAllocationController) report(claim *resource.ResourceClaim, text string) {
	if d.reported.isNew(claim.UID, text) {
		d.events.Eventf(claim, corev1.EventTypeWarning, reasonDouble, "%s", text)
	}
}

// consumers returns the pods for which the claim is reserved, directly or through their PodGroup.
func (d *DoubleAllocationController) consumers(claim *resource.ResourceClaim) []*core.Pod {
	var out []*core.Pod
	for _, pod := range d.pods.ByIndex(claims.PodIndex, claims.PodIndexKey(claim.Namespace, claim.Name)) {
		if !pod.Finished() && claims.CanRun(pod, claim) == nil {
			out = append(out, pod)
		}
	}
	return out
}

// isOurs reports whether this scheduler has allocated the claim: all its pods name this scheduler.
func (d *DoubleAllocationController) isOurs(claim *resource.ResourceClaim, pods []*core.Pod) bool {
	others := func(pod *core.Pod) bool { return pod.Spec.SchedulerName != d.own }
	return len(pods) > 0 && len(claim.Status.ReservedFor) > 0 && !slices.ContainsFunc(pods, others)
}

// hasStarted reports whether a container of the pod may have used the device. Init containers run
// while the pod is pending.
func hasStarted(pod *core.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning ||
		slices.ContainsFunc(
			slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
			func(c corev1.ContainerStatus) bool {
				return c.State.Running != nil || c.State.Terminated != nil
			},
		)
}

// putBack deletes the bound pods, or deallocates a claim without bound pods. After a deletion, the
// cluster's claim controller deallocates the claim.
func (d *DoubleAllocationController) putBack(
	ctx context.Context, claim *resource.ResourceClaim, pods []*core.Pod,
) error {
	bound := false
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		bound = true
		if pod.DeletionTimestamp != nil {
			continue
		}
		d.events.Eventf(pod, corev1.EventTypeWarning, reasonPutBack,
			"the device of ResourceClaim %s is another claim's: the pod is deleted before it starts", claim.Name)
		if err := client.IgnoreNotFound(d.write.DeletePod(ctx, pod)); err != nil {
			return fmt.Errorf("delete pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	if bound {
		return nil
	}
	err := d.write.Deallocate(ctx, claim)
	// a change of the allocation triggers another reconcile
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// doubleServer implements doubleWriter with a client.Set.
type doubleServer struct{ set *client.Set }

func (s doubleServer) Deallocate(ctx context.Context, claim *resource.ResourceClaim) error {
	claim = claim.DeepCopy()
	claim.Status.Allocation, claim.Status.ReservedFor, claim.Status.Devices = nil, nil, nil
	_, err := s.set.ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	return err
}

func (s doubleServer) DeletePod(ctx context.Context, pod *core.Pod) error {
	return s.set.Pods(pod.Namespace).Delete(
		ctx,
		pod.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	)
}
