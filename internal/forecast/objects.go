package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/groups"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/snapshot"
)

const (
	// byOwner is an index by the UID of the controller.
	byOwner = "by-controller"
	// byUser is an index of claims by the UIDs of their consumers and of their controller.
	byUser = "claims-by-user"
)

// index adds the indexes that the simulation needs.
func (s *simulation) index() error {
	w := s.world
	for _, add := range []func() error{
		func() error { return w.Pods.AddIndex(byOwner, ownerKeys[*core.Pod]) },
		func() error { return w.ReplicaSets.AddIndex(byOwner, ownerKeys[*apps.ReplicaSet]) },
		func() error { return w.PodGroups.AddIndex(byOwner, ownerKeys[*scheduling.PodGroup]) },
		func() error { return w.Claims.AddIndex(byUser, claimKeys) },
	} {
		if err := add(); err != nil {
			return fmt.Errorf("index objects: %w", err)
		}
	}
	return nil
}

func ownerKeys[T client.Object](object T) []string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

func claimKeys(claim *resource.ResourceClaim) []string {
	keys := ownerKeys(claim)
	for _, ref := range claim.Status.ReservedFor {
		if key := string(ref.UID); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// create adds a new object as the server would store it. Names that the server generates get a
// number here, so that a Plan is the same each time.
func (s *simulation) create(object client.Object) error {
	s.created++
	object.SetUID(uidOf(s.created))
	object.SetCreationTimestamp(s.age(object))
	if object.GetName() == "" {
		object.SetName(s.generateName(object))
	}
	if err := s.server.Create(object, s.world); err != nil {
		return err
	}
	s.adjust(object)
	if err := s.charge(object); err != nil {
		return err
	}
	if pod, ok := object.(*core.Pod); ok {
		s.newPods = append(s.newPods, model.KeyOf(pod))
	}
	s.put(object)
	return nil
}

// age returns the creation time of a new object. Objects that are applied later are younger, and
// what is created from an applied object is as old, so that units are tried in the order of the
// manifests.
func (s *simulation) age(object client.Object) metav1.Time {
	at := metav1.NewTime(s.now.Add(time.Duration(s.created) * time.Microsecond))
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		if of, ok := s.ages[owner.UID]; ok {
			at = of
		}
	}
	s.ages[object.GetUID()] = at
	return at
}

// adjust makes a pod one of the simulation's scheduler. What is applied, and what is created from
// that, gets the priority that the Changes ask for.
func (s *simulation) adjust(object client.Object) {
	owner := metav1.GetControllerOfNoCopy(object)
	if s.applying || owner != nil && s.applied[owner.UID] {
		s.applied[object.GetUID()] = true
	}
	priority := s.priority
	if !s.applied[object.GetUID()] {
		priority = nil
	}
	switch o := object.(type) {
	case *core.Pod:
		if o.Spec.SchedulerName != explain.AttachedScheduler && !s.allot {
			s.foreign = true
		}
		o.Spec.SchedulerName = schedulerName
		o.Spec.Priority = cmp.Or(priority, o.Spec.Priority)
	case *scheduling.PodGroup:
		o.Spec.Priority = cmp.Or(priority, o.Spec.Priority)
	case *v1alpha3.CompositePodGroup:
		o.Spec.Priority = cmp.Or(priority, o.Spec.Priority)
	}
}

// plannedUID begins the UIDs of objects that a simulation has created; a number follows.
const plannedUID = "planned-"

func uidOf(n int) types.UID { return types.UID(plannedUID + strconv.Itoa(n)) }

// lastPlanned returns the largest number in the UIDs of objects that a simulation has created
// before, if the Snapshot was saved after a Plan, and 0 if there are none.
func lastPlanned(w *snapshot.World) int {
	last := 0
	w.Each(func(object client.Object) {
		if number, ok := strings.CutPrefix(string(object.GetUID()), plannedUID); ok {
			if n, err := strconv.Atoi(number); err == nil {
				last = max(last, n)
			}
		}
	})
	return last
}

// generateName returns the next name that is free. No name is used twice.
func (s *simulation) generateName(object client.Object) string {
	prefix := object.GetNamespace() + "/" + object.GetGenerateName()
	for {
		s.names[prefix]++
		object.SetName(object.GetGenerateName() + strconv.Itoa(s.names[prefix]))
		if _, taken := s.world.Find(object); !taken {
			return object.GetName()
		}
	}
}

// put adds or replaces an object, and has the controllers work that it concerns.
func (s *simulation) put(object client.Object) {
	switch o := object.(type) {
	case *core.Pod:
		if o.Spec.NodeName == "" {
			s.expectClaims(podOwner, o, len(o.Spec.ResourceClaims))
		}
		s.world.Pods.Put(o)
		s.owners.addController(o)
		return
	case *scheduling.PodGroup:
		s.expectClaims(groupOwner, o, len(o.Spec.ResourceClaims))
		s.owners.addController(o)
	case *v1alpha3.CompositePodGroup:
		s.expectClaims(treeOwner, o, len(o.Spec.ResourceClaims))
	case *corev1.Node:
		s.addDaemonSets()
	case *corev1.ResourceQuota:
		object = s.recount(o)
	case *resourcev1.DeviceTaintRule, *resourcev1.ResourceSlice:
		s.tainted = true
	case *scheduling.Workload:
		for _, job := range s.world.Jobs.List() {
			if job.Namespace == o.Namespace {
				s.owners.add(job)
			}
		}
	case *batch.Job, *apps.Deployment, *apps.StatefulSet, *apps.DaemonSet:
		s.owners.add(object)
	case *apps.ReplicaSet:
		s.owners.add(o)
		s.owners.addController(o)
	}
	s.world.Put(object)
}

// expectClaims has claims made for an object with entries for them.
func (s *simulation) expectClaims(kind ownerKind, object client.Object, entries int) {
	if entries > 0 {
		s.lacking[claimOwner{kind: kind, namespace: object.GetNamespace(), name: object.GetName()}] = true
	}
}

// addDaemonSets has the controller look at all nodes again.
func (s *simulation) addDaemonSets() {
	for _, set := range s.world.DaemonSets.List() {
		s.owners.add(set)
	}
}

// remove removes an object and all that it owns.
func (s *simulation) remove(object client.Object, reason string) {
	if pod, ok := object.(*core.Pod); ok {
		s.recordEnd(pod, Delete, reason)
		s.removePod(pod)
		return
	}
	s.world.Remove(object)
	s.credit(object)
	s.owners.addController(object)
	for _, dependent := range s.dependents(object.GetUID()) {
		s.remove(dependent, reason)
	}
	if group, ok := object.(*scheduling.PodGroup); ok {
		for _, claim := range s.world.Claims.ByIndex(byUser, string(group.UID)) {
			s.release(claim)
		}
	}
}

// dependents returns what an object controls.
func (s *simulation) dependents(uid types.UID) []client.Object {
	var list []client.Object
	key := string(uid)
	list = append(list, objects(s.world.ReplicaSets.ByIndex(byOwner, key))...)
	list = append(list, objects(s.world.Pods.ByIndex(byOwner, key))...)
	list = append(list, objects(s.world.PodGroups.ByIndex(byOwner, key))...)
	for _, claim := range s.world.Claims.ByIndex(byUser, key) {
		if owner := metav1.GetControllerOfNoCopy(claim); owner != nil && owner.UID == uid {
			list = append(list, claim)
		}
	}
	for _, job := range s.world.Jobs.List() {
		if owner := metav1.GetControllerOfNoCopy(job); owner != nil && owner.UID == uid {
			list = append(list, job)
		}
	}
	return list
}

func objects[T client.Object](list []T) []client.Object {
	out := make([]client.Object, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

// end has a pod terminate, which it has done when controllers and the scheduler have nothing else
// to do.
func (s *simulation) end(pod *core.Pod, action Action, reason string) {
	s.recordEnd(pod, action, reason)
	if pod.Spec.NodeName == "" || pod.Finished() {
		s.removePod(pod)
		return
	}
	now, past := metav1.NewTime(s.now), metav1.NewTime(s.past)
	ending := pod.DeepCopy()
	ending.DeletionTimestamp = &now
	ending.Status.Conditions = slices.DeleteFunc(ending.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady || c.Type == corev1.DisruptionTarget
	})
	ending.Status.Conditions = append(ending.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: past, // the back-off of a Job is over
	}, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: string(action), LastTransitionTime: now,
	})
	s.put(ending)
	s.terminating = append(s.terminating, model.KeyOf(ending))
}

// terminate removes the pods that are terminating, and reports whether there were any.
func (s *simulation) terminate() bool {
	ending := s.terminating
	s.terminating = nil
	for _, key := range ending {
		pod, ok := s.world.Pods.Get(key.Namespace, key.Name)
		switch {
		case !ok || pod.DeletionTimestamp == nil:
		case slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) && !pod.Finished():
			// The Job controller counts how its pods ended before they are removed.
			failed := pod.DeepCopy()
			failed.Status.Phase = corev1.PodFailed
			s.put(failed)
			s.releaseClaims(failed)
		default:
			s.removePod(pod)
		}
	}
	return len(ending) > 0
}

// recordEnd records how a pod ended, once.
func (s *simulation) recordEnd(pod *core.Pod, action Action, reason string) {
	if _, ended := s.ends[pod.UID]; !ended && !pod.Finished() {
		s.ends[pod.UID] = end{pod: pod, action: action, reason: reason}
	}
}

// removePod removes a pod with the claims that were generated for it.
func (s *simulation) removePod(pod *core.Pod) {
	s.world.Pods.Delete(model.KeyOf(pod))
	s.credit(pod)
	s.owners.addController(pod)
	s.releaseClaims(pod)
	for _, claim := range s.world.Claims.ByIndex(byUser, string(pod.UID)) {
		if owner := metav1.GetControllerOfNoCopy(claim); owner != nil && owner.UID == pod.UID {
			s.world.Claims.Delete(model.KeyOf(claim))
			s.credit(claim)
		}
	}
	s.updateGroup(pod)
}

// updateGroup has the conditions of a pod's PodGroup follow its pods.
func (s *simulation) updateGroup(pod *core.Pod) {
	name, ok := claims.GroupName(pod)
	if !ok {
		return
	}
	group, ok := s.world.PodGroups.Get(pod.Namespace, name)
	if !ok {
		return
	}
	pods := s.world.Pods.ByIndex(groups.Index, groups.IndexKey(pod.Namespace, name))
	outcome, known := groups.Evaluate(group, groups.Count(group, pods))
	if !known {
		return
	}
	if conditions, changed := groups.Conditions(group, outcome, metav1.NewTime(s.past)); changed {
		updated := *group
		updated.Status.Conditions = conditions
		s.world.PodGroups.Put(&updated)
	}
}

// isUnresponsive reports whether a node does not exist or has no running kubelet. Its pods do not
// terminate.
func (s *simulation) isUnresponsive(name string) bool {
	if name == "" {
		return false
	}
	node, ok := s.world.Nodes.Get("", name)
	if !ok {
		return false
	}
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
}

func unitOf(pod *core.Pod) model.UnitKey {
	if name, ok := claims.GroupName(pod); ok {
		return model.UnitKey{Group: true, Key: model.Key{Namespace: pod.Namespace, Name: name}}
	}
	return model.UnitKey{Key: model.KeyOf(pod)}
}

// schedulerName is spec.schedulerName of all pods of a simulation, which has one scheduler.
const schedulerName = corev1.DefaultSchedulerName

// ofOneScheduler returns a Snapshot whose pods are all of one scheduler.
func ofOneScheduler(snap *snapshot.Snapshot) *snapshot.Snapshot {
	s := *snap
	s.Objects.Pods = slices.Clone(snap.Objects.Pods)
	for i, pod := range s.Objects.Pods {
		if pod.Spec.SchedulerName != schedulerName {
			pod = pod.DeepCopy()
			pod.Spec.SchedulerName = schedulerName
			s.Objects.Pods[i] = pod
		}
	}
	return &s
}
