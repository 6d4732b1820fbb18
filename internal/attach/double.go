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
	// reasonDouble is the reason of the events on claims that have one device.
	reasonDouble = "DeviceAllocatedTwice"
	// reasonPutBack is the reason of the event on a pod that is deleted because its device is another claim's.
	reasonPutBack = "DeviceOfAnotherClaim"

	claimsByDevice = "claims-by-device"
)

// doubleWriter is what Doubles writes: each write names the object as it was seen.
type doubleWriter interface {
	Deallocate(ctx context.Context, claim *resource.ResourceClaim) error
	DeletePod(ctx context.Context, pod *core.Pod) error
}

// Doubles finds devices that two claims have, which the API server of a foreign cluster lets happen when two schedulers
// give out the same ones (F64). The claim that was allocated first keeps the device. The other one is put back if it is
// this scheduler's and no container of its pods has started: pods that are bound go with it. All else is said loudly.
type Doubles struct {
	own    string                           // spec.schedulerName of this scheduler's pods
	claims indexed[*resource.ResourceClaim] // by claimsByDevice
	pods   indexed[*core.Pod]               // by claims.PodIndex
	write  doubleWriter
	events reconciler.Recorder
	said   said
	run    func(context.Context) error
}

// NewDoubles makes the controller on inf's caches; call it before they start.
func NewDoubles(set *client.Set, inf *client.Informers, events reconciler.Recorder, own string) (*Doubles, error) {
	d := &Doubles{own: own, claims: inf.ResourceClaims(), pods: inf.Pods(), write: doubleServer{set}, events: events}
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
			d.said.news(before.UID, "")
		case now.Status.Allocation != nil && (before == nil || before.UID != now.UID || before.Status.Allocation == nil):
			runner.Add(reconciler.KeyOf(now))
		}
	})
	return d, nil
}

// Run reconciles until ctx is done.
func (d *Doubles) Run(ctx context.Context) error { return d.run(ctx) }

// exclusive are the devices that a claim has for itself alone, as keys of claimsByDevice.
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

// Reconcile looks at the devices of one claim.
func (d *Doubles) Reconcile(ctx context.Context, key types.NamespacedName) error {
	claim, ok := d.claims.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	for _, device := range exclusive(claim) {
		holders := slices.Clone(d.claims.ByIndex(claimsByDevice, device))
		if len(holders) < 2 {
			continue
		}
		slices.SortFunc(holders, earlier)
		for _, loser := range holders[1:] {
			if err := d.settle(ctx, device, holders[0], loser); err != nil {
				return err
			}
		}
	}
	return nil
}

// earlier compares by the time of the allocation. A claim that does not tell it is taken by its own age.
func earlier(a, b *resource.ResourceClaim) int {
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

// settle puts the loser back, or says why it stays.
func (d *Doubles) settle(ctx context.Context, device string, winner, loser *resource.ResourceClaim) error {
	pods := d.consumers(loser)
	text := fmt.Sprintf("device %s belongs to ResourceClaim %s/%s, too, which had it before", device, winner.Namespace, winner.Name)
	switch {
	case !d.ours(loser, pods):
		text += "; another scheduler has to put this one back"
	case slices.ContainsFunc(pods, started):
		text += "; pods run with it, so that it stays"
	default:
		d.tell(loser, text+"; it is put back")
		return d.putBack(ctx, loser, pods)
	}
	d.tell(loser, text)
	d.tell(winner, fmt.Sprintf("device %s was given to ResourceClaim %s/%s, too", device, loser.Namespace, loser.Name))
	return nil
}

func (d *Doubles) tell(claim *resource.ResourceClaim, text string) {
	if d.said.news(claim.UID, text) {
		d.events.Eventf(claim, corev1.EventTypeWarning, reasonDouble, "%s", text)
	}
}

// consumers are the pods that the claim is reserved for, by themselves or through their PodGroup.
func (d *Doubles) consumers(claim *resource.ResourceClaim) []*core.Pod {
	var out []*core.Pod
	for _, pod := range d.pods.ByIndex(claims.PodIndex, claims.PodIndexKey(claim.Namespace, claim.Name)) {
		if !pod.Finished() && claims.CanRun(pod, claim) == nil {
			out = append(out, pod)
		}
	}
	return out
}

// ours says that this scheduler has allocated the claim: all its pods name it.
func (d *Doubles) ours(claim *resource.ResourceClaim, pods []*core.Pod) bool {
	others := func(pod *core.Pod) bool { return pod.Spec.SchedulerName != d.own }
	return len(pods) > 0 && len(claim.Status.ReservedFor) > 0 && !slices.ContainsFunc(pods, others)
}

// started says that a container of the pod may have made use of the device. Init containers run while the pod is pending.
func started(pod *core.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning ||
		slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(c corev1.ContainerStatus) bool {
			return c.State.Running != nil || c.State.Terminated != nil
		})
}

// putBack deletes the pods that are bound, and takes the devices off a claim that nobody is bound with. Where pods go,
// the cluster's claim controller frees the claim after the last one.
func (d *Doubles) putBack(ctx context.Context, claim *resource.ResourceClaim, pods []*core.Pod) error {
	bound := false
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		bound = true
		if pod.DeletionTimestamp != nil {
			continue
		}
		d.events.Eventf(pod, corev1.EventTypeWarning, reasonPutBack, "the device of ResourceClaim %s is another claim's: the pod is deleted before it starts", claim.Name)
		if err := ignoreGone(d.write.DeletePod(ctx, pod)); err != nil {
			return fmt.Errorf("delete pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	if bound {
		return nil
	}
	err := d.write.Deallocate(ctx, claim)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // the change is an event, if it concerns the allocation
		return nil
	}
	return err
}

// doubleServer writes through a client.Set.
type doubleServer struct{ set *client.Set }

func (s doubleServer) Deallocate(ctx context.Context, claim *resource.ResourceClaim) error {
	claim = claim.DeepCopy()
	claim.Status.Allocation, claim.Status.ReservedFor, claim.Status.Devices = nil, nil, nil
	_, err := s.set.ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	return err
}

func (s doubleServer) DeletePod(ctx context.Context, pod *core.Pod) error {
	return s.set.Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
}
