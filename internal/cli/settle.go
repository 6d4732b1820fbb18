package cli

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Reason is the reason why an object waits.
type Reason struct {
	Ref  Ref
	Text string
}

func (r Reason) String() string { return r.Ref.String() + ": " + r.Text }

// item is the state of one applied object.
type item struct {
	ref    Ref
	text   string // the current state
	reason string // short reason why it is not scheduled
	wait   string // what it waits for; empty if it has settled
}

// Settled reports whether all applied objects have reached their intended state: groups are
// scheduled with their pods running, Deployments, ReplicaSets, StatefulSets and DaemonSets are
// available, Jobs and pods are running or complete. An object of any other kind only has to exist.
func Settled(s Snapshot) (done bool, waiting []Reason) {
	for _, it := range look(s).items() {
		if it.wait != "" {
			waiting = append(waiting, Reason{it.ref, it.wait})
		}
	}
	return len(waiting) == 0, waiting
}

// items returns the applied objects, each once, in their order.
func (v *view) items() []item {
	var out []item
	seen := map[Ref]bool{}
	for _, ref := range v.Applied {
		if !seen[ref] {
			seen[ref] = true
			out = append(out, v.item(ref))
		}
	}
	return out
}

func (v *view) item(ref Ref) item {
	switch ref.Group + "/" + ref.Kind {
	case "scheduling.k8s.io/PodGroup":
		it := itemOf(ref, v.groups, v.group)
		if group, ok := v.groups[ref.key()]; ok {
			it.reason = groupReason(group)
		}
		return it
	case "apps/Deployment":
		return itemOf(ref, v.deployments, v.deployment)
	case "apps/ReplicaSet":
		return itemOf(ref, v.replicaSets, v.replicaSet)
	case "apps/StatefulSet":
		return itemOf(ref, v.statefulSets, v.statefulSet)
	case "apps/DaemonSet":
		return itemOf(ref, v.daemonSets, v.daemonSet)
	case "batch/Job":
		return itemOf(ref, v.jobs, v.job)
	case "/Pod":
		it := itemOf(ref, v.pods, func(pod *core.Pod) (text, wait string) { return podText(pod), v.podWait(pod) })
		if pod, ok := v.pods[ref.key()]; ok {
			if c := podCondition(pod, corev1.PodScheduled); c.Status == corev1.ConditionFalse {
				it.reason = shortened(c.Message)
			}
		}
		return it
	case "resource.k8s.io/ResourceClaim":
		return itemOf(ref, v.claims, func(claim *resource.ResourceClaim) (text, wait string) { return claimText(claim), "" })
	}
	return item{ref: ref, text: "exists"}
}

// itemOf returns the item of an object, with its state and what it waits for as state returns them.
func itemOf[T any](ref Ref, objects map[types.NamespacedName]T, state func(T) (text, wait string)) item {
	obj, ok := objects[ref.key()]
	if !ok {
		return item{ref: ref, text: "gone", wait: "does not exist any more"}
	}
	text, wait := state(obj)
	return item{ref: ref, text: text, wait: wait}
}

// group returns the state of a group. It has settled when it is scheduled, has its claims, and all
// its pods run. A group that no applied pod or template names waits for no pods.
func (v *view) group(group *scheduling.PodGroup) (text, wait string) {
	members := v.members[keyOf(group)]
	text = groupStatus(group)
	if claim := v.groupClaims(group); claim != "" {
		text += ", " + claim
	}
	if len(members) > 0 {
		text += ", " + podsRunning(members)
	}
	if missing := missingClaims(group); missing != "" {
		return text, joinReason("the claim "+missing+" has not been generated", v.complaint(group.UID))
	}
	if len(members) == 0 && !v.expectsPods(group) {
		return text, ""
	}
	if condition := groupCondition(group); condition == nil || condition.Status != metav1.ConditionTrue {
		why := "it is not scheduled"
		if condition != nil {
			why = joinReason(why, condition.Message)
		}
		return text, joinReason(why, v.complaint(group.UID))
	}
	return text, v.firstWait(members)
}

// expectsPods reports whether an applied object creates pods for the group.
func (v *view) expectsPods(group *scheduling.PodGroup) bool {
	return slices.ContainsFunc(v.Applied, func(ref Ref) bool {
		if ref.Namespace != group.Namespace {
			return false
		}
		template := v.podTemplate(ref)
		return template != nil && template.Spec.SchedulingGroup != nil &&
			ptr.Deref(template.Spec.SchedulingGroup.PodGroupName, "") == group.Name
	})
}

// podTemplate returns the template from which an applied object creates pods, or nil if it creates
// none.
func (v *view) podTemplate(ref Ref) *core.PodTemplateSpec {
	key := ref.key()
	switch ref.Kind {
	case "Deployment":
		if d, ok := v.deployments[key]; ok && ptr.Deref(d.Spec.Replicas, 1) > 0 {
			return &d.Spec.Template
		}
	case "ReplicaSet":
		if rs, ok := v.replicaSets[key]; ok && ptr.Deref(rs.Spec.Replicas, 1) > 0 {
			return &rs.Spec.Template
		}
	case "StatefulSet":
		if s, ok := v.statefulSets[key]; ok && ptr.Deref(s.Spec.Replicas, 1) > 0 {
			return &s.Spec.Template
		}
	case "Job":
		if j, ok := v.jobs[key]; ok && !ptr.Deref(j.Spec.Suspend, false) {
			return &j.Spec.Template
		}
	}
	return nil
}

// groupCondition returns the condition for whether the group is scheduled. PodGroupScheduled
// (KEP-5832) is preferred, because it follows the life of the group.
func groupCondition(group *scheduling.PodGroup) *metav1.Condition {
	for _, typ := range []string{scheduling.PodGroupScheduled, schedulingv1beta1.PodGroupInitiallyScheduled} {
		if c := meta.FindStatusCondition(group.Status.Conditions, typ); c != nil {
			return c
		}
	}
	return nil
}

func groupStatus(group *scheduling.PodGroup) string {
	switch c := groupCondition(group); {
	case group.DeletionTimestamp != nil:
		return "Terminating"
	case c == nil:
		return "Pending"
	case c.Status == metav1.ConditionTrue:
		return "Scheduled"
	default:
		return c.Reason
	}
}

// groupReason returns in brief why a group is not scheduled.
func groupReason(group *scheduling.PodGroup) string {
	if c := groupCondition(group); group.DeletionTimestamp == nil && c != nil && c.Status != metav1.ConditionTrue {
		return shortened(c.Message)
	}
	return ""
}

// maxReason is the largest length of a reason in a line, in bytes.
const maxReason = 160

// shortened shortens a message at a word boundary.
func shortened(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if len(message) <= maxReason {
		return message
	}
	cut := strings.ToValidUTF8(message[:maxReason], "")
	if end := strings.LastIndexByte(cut, ' '); end > maxReason/2 {
		cut = cut[:end]
	}
	return cut + " …"
}

// missingClaims returns the first entry that has no recorded claim.
func missingClaims(group *scheduling.PodGroup) string {
	recorded := map[string]bool{}
	for _, st := range group.Status.ResourceClaimStatuses {
		recorded[st.Name] = true
	}
	for _, entry := range group.Spec.ResourceClaims {
		if entry.ResourceClaimName == nil && !recorded[entry.Name] {
			return entry.Name
		}
	}
	return ""
}

// unseen is the reason for an object whose status is older than its spec.
const unseen = "the controller has not seen the last change yet"

func (v *view) deployment(d *apps.Deployment) (text, wait string) {
	want, st := ptr.Deref(d.Spec.Replicas, 1), d.Status
	text = fmt.Sprintf("%d of %d available", st.AvailableReplicas, want)
	if st.ObservedGeneration >= d.Generation && st.UpdatedReplicas == want && st.AvailableReplicas == want &&
		st.Replicas == want {
		return text, ""
	}
	why := v.firstWait(v.podsOf(d))
	if st.ObservedGeneration < d.Generation {
		why = unseen
	}
	for _, c := range st.Conditions {
		if why == "" && c.Type == "ReplicaFailure" && c.Status == corev1.ConditionTrue {
			why = c.Message
		}
	}
	for _, rs := range v.setsOf[d.UID] {
		if why == "" {
			why = v.complaint(rs.UID)
		}
	}
	return text, joinReason(text, why)
}

func (v *view) replicaSet(rs *apps.ReplicaSet) (text, wait string) {
	want, st := ptr.Deref(rs.Spec.Replicas, 1), rs.Status
	text = fmt.Sprintf("%d of %d available", st.AvailableReplicas, want)
	seen := st.ObservedGeneration >= rs.Generation
	if seen && st.AvailableReplicas == want && st.Replicas == want {
		return text, ""
	}
	return text, joinReason(text, v.ownedWait(rs.UID, seen))
}

// firstWait returns what the first pod that has not settled waits for, and the number of further
// such pods.
func (v *view) firstWait(pods []*core.Pod) string {
	first, more := "", 0
	for _, pod := range pods {
		wait := v.podWait(pod)
		switch {
		case wait == "":
		case first == "":
			first = "pod " + pod.Name + ": " + wait
		default:
			more++
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" (and %d more)", more)
	}
	return first
}

// podWait returns what a pod waits for: "" if it is running and ready, or has succeeded.
func (v *view) podWait(pod *core.Pod) string {
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return ""
	case pod.DeletionTimestamp != nil:
		return "is being deleted"
	case pod.Status.Phase == corev1.PodFailed:
		return joinReason("has failed", joinReason(exit(pod), pod.Status.Message))
	case pod.Status.Phase == corev1.PodRunning && podCondition(pod, corev1.PodReady).Status == corev1.ConditionTrue:
		return ""
	}
	if c := podCondition(pod, corev1.PodScheduled); c.Status == corev1.ConditionFalse {
		return joinReason("is not scheduled", c.Message)
	}
	if pod.Spec.NodeName == "" {
		return joinReason("is not scheduled", v.complaint(pod.UID))
	}
	why := podCondition(pod, corev1.PodReady).Message
	if complaint := v.complaint(pod.UID); complaint != "" {
		why = complaint
	}
	return joinReason("is on "+pod.Spec.NodeName+", but not ready", why)
}

func exit(pod *core.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Sprintf("container %s ended with exit code %d", c.Name, t.ExitCode)
		}
	}
	return ""
}

func podCondition(pod *core.Pod, typ corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == typ {
			return c
		}
	}
	return corev1.PodCondition{}
}

// podText returns the phase of a pod and its node.
func podText(pod *core.Pod) string {
	text := string(pod.Status.Phase)
	if pod.DeletionTimestamp != nil {
		text = "Terminating"
	}
	if pod.Spec.NodeName != "" {
		text += " on " + pod.Spec.NodeName
	}
	return text
}

// podsRunning counts the pods by their progress.
func podsRunning(pods []*core.Pod) string {
	running, done := 0, 0
	for _, pod := range pods {
		switch pod.Status.Phase {
		case corev1.PodRunning:
			running++
		case corev1.PodSucceeded:
			done++
		}
	}
	text := fmt.Sprintf("%d of %d pods running", running, len(pods))
	if done > 0 {
		text += fmt.Sprintf(", %d succeeded", done)
	}
	return text
}

func claimText(claim *resource.ResourceClaim) string {
	switch {
	case claim.DeletionTimestamp != nil:
		return "is being deleted"
	case claim.Status.Allocation == nil:
		return "not allocated"
	}
	return "has " + strings.Join(devices(claim), ", ")
}

// joinReason concatenates a state and its reason. The reason is often an event that repeats a condition;
// then it is left out.
func joinReason(what, why string) string {
	switch {
	case strings.HasSuffix(what, why):
		return what
	case what == "":
		return why
	}
	return what + ": " + why
}
