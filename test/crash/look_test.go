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
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/testkit/memserver"
)

// shown are the kinds of which a summary tells, in its order.
var shown = []schema.GroupResource{
	{Group: appsv1.GroupName, Resource: "deployments"},
	{Group: appsv1.GroupName, Resource: "daemonsets"},
	{Group: resourcev1.GroupName, Resource: "devicetaintrules"},
	{Group: batchv1.GroupName, Resource: "jobs"},
	{Group: appsv1.GroupName, Resource: "replicasets"},
	{Group: appsv1.GroupName, Resource: "statefulsets"},
	{Group: appsv1.GroupName, Resource: "controllerrevisions"},
	{Group: schedulingv1beta1.GroupName, Resource: "workloads"},
	compositeKind,
	groupKind,
	podKind,
	claimKind,
}

var (
	compositeKind = schema.GroupResource{Group: schedulingv1beta1.GroupName, Resource: "compositepodgroups"}

	groupKind = schema.GroupResource{Group: schedulingv1beta1.GroupName, Resource: "podgroups"}
	podKind   = schema.GroupResource{Resource: "pods"}
	claimKind = schema.GroupResource{Group: resourcev1.GroupName, Resource: "resourceclaims"}
	sliceKind = schema.GroupResource{Group: resourcev1.GroupName, Resource: "resourceslices"}
)

// summary tells what there is, without what may differ: names that the server made, nodes, devices
// and times.
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
		return fmt.Sprintf("job %s: %d active, %d ready, %d succeeded, %d failed%s", name, o.Status.Active,
			deref(o.Status.Ready), o.Status.Succeeded, o.Status.Failed, jobConditions(o))
	case *apps.ReplicaSet:
		return fmt.Sprintf("replicaset %s: %d replicas, %d ready", name, o.Status.Replicas, o.Status.ReadyReplicas)
	case *apps.Deployment:
		return fmt.Sprintf("deployment %s: %d replicas, %d updated, %d available", name, o.Status.Replicas,
			o.Status.UpdatedReplicas, o.Status.AvailableReplicas)
	case *apps.DaemonSet:
		return fmt.Sprintf("daemonset %s: on %d of %d nodes, %d updated, %d available", name,
			o.Status.CurrentNumberScheduled, o.Status.DesiredNumberScheduled,
			o.Status.UpdatedNumberScheduled, o.Status.NumberAvailable)
	case *resourcev1.DeviceTaintRule:
		return fmt.Sprintf("rule %s%s", name, conditions(o.Status.Conditions))
	case *apps.StatefulSet:
		return fmt.Sprintf("statefulset %s: %d replicas, %d ready", name, o.Status.Replicas, o.Status.ReadyReplicas)
	case *scheduling.PodGroup:
		return fmt.Sprintf("podgroup %s: %d claims%s", name, len(o.Status.ResourceClaimStatuses),
			conditions(o.Status.Conditions))
	case *v1alpha3.CompositePodGroup:
		return fmt.Sprintf("compositepodgroup %s: %d claims%s", name, len(o.Status.ResourceClaimStatuses),
			conditions(o.Status.Conditions))
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

// deref returns what a field points to, or the zero value.
func deref[T any](field *T) (value T) {
	if field != nil {
		value = *field
	}
	return value
}

// whole checks that each gang that was never scheduled is on nodes as a whole or not at all.
func (s *stage) whole() {
	s.Helper()
	members := map[string]int{}
	for _, object := range s.server.Objects(podKind) {
		pod := object.(*core.Pod)
		if name, ok := claims.GroupName(pod); ok && pod.Spec.NodeName != "" {
			members[name]++
		}
	}
	for _, object := range s.server.Objects(groupKind) {
		group := object.(*scheduling.PodGroup)
		gang := group.Spec.SchedulingPolicy.Gang
		scheduled := meta.IsStatusConditionTrue(group.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
		if n := members[group.Name]; gang != nil && n > 0 && n < int(gang.MinCount) && !scheduled {
			s.Errorf("%d of the gang %s are on nodes when the API server is back", n, group.Name)
		}
	}
	s.wholeTrees(members)
}

// sound holds at rest: a gang is whole or not there, and who holds devices is there.
func (s *stage) sound() {
	s.Helper()
	here, members := map[types.UID]bool{}, map[string]int{}
	for _, object := range s.server.Objects(podKind) {
		pod := object.(*core.Pod)
		here[pod.UID] = !claims.PodDone(pod)
		if name, ok := claims.GroupName(pod); ok && pod.Spec.NodeName != "" && !claims.PodDone(pod) {
			members[name]++
		}
	}
	for _, object := range s.server.Objects(groupKind) {
		group := object.(*scheduling.PodGroup)
		here[group.UID] = true
		gang := group.Spec.SchedulingPolicy.Gang
		// One that was whole may lose members, and goes on.
		whole := meta.IsStatusConditionTrue(group.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
		if n := members[group.Name]; gang != nil && n > 0 && n < int(gang.MinCount) && !whole {
			s.Errorf("%d of the gang %s are on nodes", n, group.Name)
		}
	}
	s.wholeTrees(members)
	for _, object := range s.server.Objects(compositeKind) {
		here[object.(metav1.Object).GetUID()] = true
	}
	for _, object := range s.server.Objects(claimKind) {
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
