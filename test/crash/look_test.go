package crash

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/testkit/memserver"
)

// shown are the kinds of which a summary tells, in its order.
var shown = []schema.GroupResource{
	{Group: batchv1.GroupName, Resource: "jobs"},
	{Group: appsv1.GroupName, Resource: "replicasets"},
	{Group: appsv1.GroupName, Resource: "statefulsets"},
	{Group: appsv1.GroupName, Resource: "controllerrevisions"},
	{Group: schedulingv1beta1.GroupName, Resource: "workloads"},
	{Group: schedulingv1beta1.GroupName, Resource: "podgroups"},
	{Resource: "pods"},
	{Group: resourcev1.GroupName, Resource: "resourceclaims"},
}

// summary tells what there is, without what may differ: names that the server made, nodes, devices and times.
func (s *stage) summary() string { return summary(s.server) }

func summary(server *memserver.Server) string {
	v := view{named: map[types.UID]metav1.Object{}}
	var all []runtime.Object
	for _, kind := range shown {
		for _, object := range server.Objects(kind) {
			v.named[object.(metav1.Object).GetUID()] = object.(metav1.Object)
			all = append(all, object)
		}
	}
	var lines []string
	for _, object := range all {
		lines = append(lines, v.line(object))
	}
	slices.Sort(lines)
	if len(lines) == 0 {
		return "nothing\n"
	}
	return strings.Join(lines, "\n") + "\n"
}

// view knows all objects by their UIDs.
type view struct {
	named map[types.UID]metav1.Object
}

func (v view) line(object runtime.Object) string {
	name := v.name(object.(metav1.Object))
	if object.(metav1.Object).GetDeletionTimestamp() != nil {
		name += " (going)"
	}
	switch o := object.(type) {
	case *batch.Job:
		return fmt.Sprintf("job %s: %d active, %d ready, %d succeeded, %d failed%s", name, o.Status.Active, deref(o.Status.Ready), o.Status.Succeeded, o.Status.Failed, jobConditions(o))
	case *apps.ReplicaSet:
		return fmt.Sprintf("replicaset %s: %d replicas, %d ready", name, o.Status.Replicas, o.Status.ReadyReplicas)
	case *apps.StatefulSet:
		return fmt.Sprintf("statefulset %s: %d replicas, %d ready", name, o.Status.Replicas, o.Status.ReadyReplicas)
	case *scheduling.PodGroup:
		return fmt.Sprintf("podgroup %s: %d claims%s", name, len(o.Status.ResourceClaimStatuses), conditions(o.Status.Conditions))
	case *core.Pod:
		bound := "on a node"
		if o.Spec.NodeName == "" {
			bound = "on no node"
		}
		return fmt.Sprintf("pod %s: %s, %s, %d claims", name, o.Status.Phase, bound, len(o.Status.ResourceClaimStatuses))
	case *resource.ResourceClaim:
		return fmt.Sprintf("claim %s: %s", name, v.holding(o))
	}
	return fmt.Sprintf("%T %s", object, name)
}

// name is that of an object, or by what it was made when its own may be another each time.
func (v view) name(object metav1.Object) string {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil {
		return object.GetName()
	}
	by := "gone"
	if o, ok := v.named[owner.UID]; ok {
		by = v.name(o)
	}
	if entry := object.GetAnnotations()[claims.PodClaimAnnotation]; entry != "" {
		by += " for " + entry
	}
	return fmt.Sprintf("of %s %s", strings.ToLower(owner.Kind), by)
}

func (v view) holding(claim *resource.ResourceClaim) string {
	device := "no device"
	if claim.Status.Allocation != nil {
		device = fmt.Sprintf("%d device", len(claim.Status.Allocation.Devices.Results))
	}
	var consumers []string
	for _, ref := range claim.Status.ReservedFor {
		name := "gone"
		if o, ok := v.named[ref.UID]; ok {
			name = v.name(o)
		}
		consumers = append(consumers, ref.Resource+" "+name)
	}
	slices.Sort(consumers)
	return fmt.Sprintf("%s, reserved for %v, finalizers %v", device, consumers, claim.Finalizers)
}

func jobConditions(job *batch.Job) string {
	var text string
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			text += ", " + string(c.Type)
		}
	}
	return text
}

func conditions(list []metav1.Condition) string {
	var text string
	for _, c := range list {
		text += fmt.Sprintf(", %s=%s", c.Type, c.Status)
	}
	return text
}

func deref(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// sound holds at rest: a gang is whole or not there, and who holds devices is there.
func (s *stage) sound() {
	s.Helper()
	here, members := map[types.UID]bool{}, map[string]int{}
	for _, object := range s.server.Objects(shown[6]) {
		pod := object.(*core.Pod)
		here[pod.UID] = !claims.PodDone(pod)
		if name, ok := claims.GroupName(pod); ok && pod.Spec.NodeName != "" && !claims.PodDone(pod) {
			members[name]++
		}
	}
	for _, object := range s.server.Objects(shown[5]) {
		group := object.(*scheduling.PodGroup)
		here[group.UID] = true
		gang := group.Spec.SchedulingPolicy.Gang
		// One that was whole may lose members, and goes on.
		whole := meta.IsStatusConditionTrue(group.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
		if n := members[group.Name]; gang != nil && n > 0 && n < int(gang.MinCount) && !whole {
			s.Errorf("%d of the gang %s are on nodes", n, group.Name)
		}
	}
	for _, object := range s.server.Objects(shown[7]) {
		claim := object.(*resource.ResourceClaim)
		if claim.Status.Allocation != nil && len(claim.Status.ReservedFor) == 0 {
			s.Errorf("claim %s is held for nobody", claim.Name)
		}
		for _, ref := range claim.Status.ReservedFor {
			if !here[ref.UID] {
				s.Errorf("claim %s is held for %s %s, which is gone", claim.Name, ref.Resource, ref.Name)
			}
		}
	}
}

// history goes through all writes, and says what must not have been at any time.
func history(before []runtime.Object, changes []memserver.Change) []string {
	h := past{live: map[types.UID]*resource.ResourceClaim{}, pods: map[types.UID]*core.Pod{}}
	for _, object := range before {
		if claim, ok := object.(*resource.ResourceClaim); ok {
			h.live[claim.UID] = claim
		}
	}
	for i, c := range changes {
		switch was := c.Before.(type) {
		case *resource.ResourceClaim:
			delete(h.live, was.UID)
		case *core.Pod:
			delete(h.pods, was.UID)
		}
		switch is := c.After.(type) {
		case *resource.ResourceClaim:
			h.live[is.UID] = is
		case *core.Pod:
			h.pods[is.UID] = is
		}
		if c.Resource.Resource == "pods" || c.Resource.Resource == "resourceclaims" {
			h.check(i)
		}
	}
	return h.faults
}

type past struct {
	live   map[types.UID]*resource.ResourceClaim
	pods   map[types.UID]*core.Pod
	faults []string
}

func (h *past) fault(at int, format string, args ...any) {
	h.faults = append(h.faults, fmt.Sprintf("after change %d: ", at)+fmt.Sprintf(format, args...))
}

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
