package crash

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/testkit/memserver"
)

// past is what there was after one of the writes, and what has been wrong until then.
type past struct {
	live   map[types.UID]*resource.ResourceClaim
	pods   map[types.UID]*core.Pod
	rules  map[types.UID]*resourcev1.DeviceTaintRule // also those that are gone: who evicts may not have seen that yet
	wanted map[types.UID]int                         // how many pods an owner has ever asked for at once
	faults []string
}

// history goes through all writes, and says what must not have been at any time.
func history(before memserver.Snapshot, changes []memserver.Change) []string {
	h := past{
		live: map[types.UID]*resource.ResourceClaim{}, pods: map[types.UID]*core.Pod{},
		rules: map[types.UID]*resourcev1.DeviceTaintRule{}, wanted: map[types.UID]int{},
	}
	for _, object := range before {
		h.put(object)
	}
	for i, c := range changes {
		h.drop(c.Before)
		h.put(c.After)
		if c.Resource == podKind || c.Resource == claimKind {
			h.check(i)
		}
		if is, ok := c.After.(*core.Pod); ok {
			was, _ := c.Before.(*core.Pod)
			h.checkChange(i, was, is)
		}
	}
	return h.faults
}

func (h *past) drop(object runtime.Object) {
	switch was := object.(type) {
	case *resource.ResourceClaim:
		delete(h.live, was.UID)
	case *core.Pod:
		delete(h.pods, was.UID)
	}
}

func (h *past) put(object runtime.Object) {
	switch is := object.(type) {
	case *resource.ResourceClaim:
		h.live[is.UID] = is
	case *core.Pod:
		h.pods[is.UID] = is
	case *resourcev1.DeviceTaintRule:
		h.rules[is.UID] = is
	case *apps.ReplicaSet:
		h.want(is.UID, is.Spec.Replicas)
	case *apps.StatefulSet:
		h.want(is.UID, is.Spec.Replicas)
	case *batch.Job:
		h.want(is.UID, is.Spec.Parallelism)
	case *apps.DaemonSet:
		if is.Status.ObservedGeneration > 0 {
			h.want(is.UID, &is.Status.DesiredNumberScheduled)
		}
	}
}

func (h *past) want(owner types.UID, pods *int32) {
	h.wanted[owner] = max(h.wanted[owner], int(deref(pods)))
}

func (h *past) fault(at int, format string, args ...any) {
	h.faults = append(h.faults, fmt.Sprintf("after change %d: ", at)+fmt.Sprintf(format, args...))
}

// check holds of what is there at any time.
func (h *past) check(at int) {
	holders, entries, names := map[string]string{}, map[string]string{}, map[string]*resource.ResourceClaim{}
	for _, claim := range h.live {
		names[claim.Name] = claim
		if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
			entry := string(owner.UID) + " " + claim.Annotations[claims.PodClaimAnnotation]
			if other, ok := entries[entry]; ok {
				h.fault(at, "claims %s and %s are for one entry", other, claim.Name)
			}
			entries[entry] = claim.Name
		}
		if claim.Status.Allocation == nil {
			continue
		}
		if !slices.Contains(claim.Finalizers, claims.Finalizer) {
			h.fault(at, "claim %s has devices without the finalizer", claim.Name)
		}
		for _, d := range claim.Status.Allocation.Devices.Results {
			device := d.Driver + "/" + d.Pool + "/" + d.Device
			if other, ok := holders[device]; ok {
				h.fault(at, "device %s is held by claims %s and %s", device, other, claim.Name)
			}
			holders[device] = claim.Name
		}
	}
	for _, pod := range h.pods {
		if pod.Spec.NodeName != "" && !claims.PodDone(pod) {
			h.checkPod(at, pod, names)
		}
	}
}

// checkPod holds of a pod that may run: it has all its claims.
func (h *past) checkPod(at int, pod *core.Pod, names map[string]*resource.ResourceClaim) {
	for _, name := range claims.Uses(pod) {
		claim := names[name]
		switch {
		case claim == nil:
			h.fault(at, "pod %s is on a node without its claim %s", pod.Name, name)
		case claims.CanRun(pod, claim) != nil:
			h.fault(at, "pod %s is on a node, and claim %s is not its own: %v", pod.Name, name, claims.CanRun(pod, claim))
		}
	}
}

// checkChange holds of what becomes of a pod: it is one of those that are wanted, and it goes once.
func (h *past) checkChange(at int, was, is *core.Pod) {
	if was == nil {
		h.checkNew(at, is)
		return
	}
	before, after := evicted(was), evicted(is)
	switch {
	case before != nil && (after == nil || !after.LastTransitionTime.Equal(&before.LastTransitionTime)):
		h.fault(at, "pod %s is evicted once more", is.Name)
	case before == nil && after != nil && !h.tainted(is):
		h.fault(at, "pod %s is evicted from devices that have not been tainted", is.Name)
	}
}

// checkNew holds of a pod that is new: its owner does not have what it has asked for.
func (h *past) checkNew(at int, pod *core.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return
	}
	wanted, known := h.wanted[owner.UID]
	if !known {
		return
	}
	n := 0
	for _, other := range h.pods {
		if !claims.PodDone(other) && other.DeletionTimestamp == nil &&
			metav1.IsControlledBy(other, &metav1.ObjectMeta{UID: owner.UID}) {
			n++
		}
	}
	if n > wanted {
		h.fault(at, "%d pods of %s %s, which wants %d", n, owner.Kind, owner.Name, wanted)
	}
}

func evicted(pod *core.Pod) *corev1.PodCondition {
	for i, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Reason == "DeletionByDeviceTaintManager" {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// tainted says whether a rule selects a device of the pod, or did.
func (h *past) tainted(pod *core.Pod) bool {
	for _, claim := range h.live {
		if claim.Status.Allocation == nil || !slices.Contains(claims.Uses(pod), claim.Name) {
			continue
		}
		for _, d := range claim.Status.Allocation.Devices.Results {
			for _, rule := range h.rules {
				if s := rule.Spec.DeviceSelector; *s.Driver == d.Driver && *s.Pool == d.Pool && *s.Device == d.Device {
					return true
				}
			}
		}
	}
	return false
}
