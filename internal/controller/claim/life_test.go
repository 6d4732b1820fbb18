package claim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/claims/claimstest"
	"github.com/allot-dev/allot/internal/groups"
)

// TestLives plays whole lives: people make and delete pods, PodGroups and claims, gracefully or by
// force, and the owner of a foreign consumer comes and goes; a scheduler allocates, reserves and
// binds, a write at a time; a node runs pods and ends them; the finalizers of PodGroups are looked
// after; garbage is collected; and the controller under test does its work. Each of them sees the
// server as late as it likes, and is started anew at any moment.
//
// After each write: no device has two claims, no claim has devices without the finalizer (F40), no
// pod that is bound or runs has lost a device, however old the caches are, and no entry has two
// claims. When all has come to rest, devices are held for somebody only, and when everybody has
// gone, by nobody (R11, R16, R17, R18, F09, F13, F19, F34, F35, F41).
func TestLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLife(t)
		for range rapid.IntRange(20, 100).Draw(t, "steps") {
			l.act(rapid.SampledFrom(slices.Sorted(maps.Keys(l.acts))).Draw(t, "act"))
		}
		l.rest()
		l.heldForSomebody()
		l.everybodyLeaves()
		l.nothingHeld()
	})
}

const (
	devices  = 3
	workload = types.UID("w-uid") // a consumer that is neither a pod nor a PodGroup
)

type life struct {
	*drama
	acts  map[string]func()
	sched *scheduler
	bound map[types.UID][]grant // by pod, what it was bound with
	runs  map[types.UID][]grant // by pod, what the node has started it with
}

// grant is a claim with the device that a pod runs with.
type grant struct {
	claim  string
	uid    types.UID
	device string
}

func newLife(t *rapid.T) *life {
	l := &life{
		drama: &drama{T: t, world: newWorld(), records: map[string]string{}},
		bound: map[types.UID][]grant{},
		runs:  map[types.UID][]grant{},
	}
	l.put(l.parse("template x\nclaim c\nclaim w reservedfor=workloads/w"))
	l.check = l.sound
	l.sched = &scheduler{life: l}
	l.sched.see()
	l.acts = map[string]func(){
		"pod": l.pod, "a pod": l.pod, "group": l.group, "delete pod": l.deletePod, "force": l.forcePod,
		"replace": l.replacePod, "overtake": l.overtake, "overtake again": l.overtake, "delete group": l.deleteGroup,
		"strip group": l.stripGroup, "delete claim": l.removeClaim, "workload joins": l.join, "workload leaves": l.leave,
		"workload goes": func() { l.foreignGone[workload] = true },
		"calm":          l.calm, "calm again": l.calm, "calm once more": l.calm, "hold": l.hold, "deliver": l.deliverSome,
		"reconcile": l.reconcileOne, "reconcile more": l.reconcileOne, "minute": l.minute,
		"restart": func() { l.start(l.flip("stale")) }, "collect": l.collect, "protect": l.protect,
		"see": l.sched.see, "schedule": l.sched.step, "schedule more": l.sched.step, "schedule on": l.sched.step,
		"reschedule": l.sched.restart,
		"node":       l.node, "a node": l.node, "finish": l.finish,
	}
	return l
}

func (l *life) act(name string) { l.acts[name]() }

func (l *life) flip(what string) bool { return rapid.Bool().Draw(l.T, what) }

// pick draws one of the keys; false if there is none.
func (l *life) pick(what string, keys []string) (string, bool) {
	if len(keys) == 0 {
		return "", false
	}
	return rapid.SampledFrom(keys).Draw(l.T, what), true
}

func (l *life) pod() {
	l.spawn(rapid.SampledFrom([]string{
		"pod p%d uid=%d claims=a:template/x",
		"pod p%d uid=%d claims=a:claim/c",
		"pod p%d uid=%d claims=a:claim/w,b:claim/c",
		"pod m%d uid=%d group=g0 claims=s:group/s",
		"pod m%d uid=%d group=g0 claims=s:group/s,own:template/x",
		"pod m%d uid=%d group=g0 claims=s:template/x",
		"pod m%d uid=%d group=g0 claims=n:group/n,w:claim/w",
	}).Draw(l.T, "kind"))
}

func (l *life) group() { l.spawn("group g%d uid=g%d protected claims=s:template/x,n:claim/c") }

// deletePod asks for it: a pod that has a node waits for the node's word.
func (l *life) deletePod() {
	if key, ok := l.pick("pod", l.pods.keys(l.pods.live)); ok {
		l.endPod(l.pods.live[key])
	}
}

func (l *life) endPod(pod *core.Pod) {
	if pod.Spec.NodeName == "" || pod.Finished() {
		l.pods.remove(pod)
		return
	}
	if pod.DeletionTimestamp == nil {
		pod = pod.DeepCopy()
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.NewTime(l.clock.Now())), new(int64(30))
		l.pods.put(pod)
	}
}

// forcePod takes a pod away without the node's word.
func (l *life) forcePod() {
	if key, ok := l.pick("pod", l.pods.keys(l.pods.live)); ok {
		l.pods.remove(l.pods.live[key])
	}
}

// replacePod makes a pod anew under its name, as a StatefulSet does.
func (l *life) replacePod() {
	key, ok := l.pick("pod", l.pods.keys(l.pods.live))
	if !ok {
		return
	}
	old := l.pods.live[key]
	l.pods.remove(old)
	l.born++
	pod := &core.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: old.Name, Namespace: old.Namespace, UID: types.UID(fmt.Sprint(l.born))},
		Spec:       *old.Spec.DeepCopy(),
	}
	pod.Spec.NodeName = ""
	l.pods.put(pod)
}

// overtake has a pod made anew, placed and started before the controller sees any of it but the
// claims.
func (l *life) overtake() {
	l.claims.held, l.pods.held = false, true
	l.replacePod()
	l.sched.restart()
	for range 6 {
		l.sched.step()
	}
	l.node()
	l.node()
}

func (l *life) deleteGroup() {
	if key, ok := l.pick("group", l.groups.keys(l.groups.live)); ok {
		l.endGroup(l.groups.live[key])
	}
}

func (l *life) endGroup(group *scheduling.PodGroup) {
	if len(group.Finalizers) == 0 {
		l.groups.remove(group)
		return
	}
	if group.DeletionTimestamp == nil {
		group = group.DeepCopy()
		group.DeletionTimestamp = new(metav1.NewTime(l.clock.Now()))
		l.groups.put(group)
	}
}

// stripGroup takes a PodGroup away whatever protects it.
func (l *life) stripGroup() {
	if key, ok := l.pick("group", l.groups.keys(l.groups.live)); ok {
		l.groups.remove(l.groups.live[key])
	}
}

func (l *life) removeClaim() {
	if key, ok := l.pick("claim", l.claims.keys(l.claims.live)); ok {
		l.deleteClaim(l.claims.live[key])
	}
}

// join and leave are the hand of the workload's owner: it may stand in any allocated claim, and
// takes itself off.
func (l *life) join() {
	if key, ok := l.pick("claim", l.claims.keys(l.claims.live)); ok && !l.foreignGone[workload] {
		claim := l.claims.live[key].DeepCopy()
		if claim.Status.Allocation != nil && claim.DeletionTimestamp == nil &&
			!slices.ContainsFunc(claim.Status.ReservedFor, isWorkload) {
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, claimstest.Consumer("workloads/w"))
			l.claims.put(claim)
		}
	}
}

func (l *life) leave() {
	for _, key := range l.claims.keys(l.claims.live) {
		if claim := l.claims.live[key].DeepCopy(); slices.ContainsFunc(claim.Status.ReservedFor, isWorkload) {
			claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, isWorkload)
			l.claims.put(claim)
		}
	}
}

func isWorkload(ref resourcev1.ResourceClaimConsumerReference) bool { return ref.UID == workload }

func (l *life) hold() {
	l.claims.held, l.pods.held, l.groups.held = l.flip("claims"), l.flip("pods"), l.flip("groups")
}

// deliverSome lets the controller see a little more.
func (l *life) deliverSome() {
	n := func(what string) int { return rapid.IntRange(0, 3).Draw(l.T, what) }
	l.claims.deliver(n("claims"))
	l.pods.deliver(n("pods"))
	l.groups.deliver(n("groups"))
}

func (l *life) reconcileOne() {
	if len(l.waiting) == 0 {
		return
	}
	i := rapid.IntRange(0, len(l.waiting)-1).Draw(l.T, "which")
	key := l.waiting[i]
	l.waiting = slices.Delete(slices.Clone(l.waiting), i, i+1)
	if err := l.controller.Reconcile(context.Background(), key); err != nil {
		l.Add(key)
	}
}

func (l *life) minute() {
	l.clock.SetTime(l.clock.Now().Add(time.Minute))
	for _, key := range l.later {
		l.Add(key)
	}
	l.later = nil
}

// protect does what the controller of PodGroups does, on what the caches show.
func (l *life) protect() {
	for _, key := range l.groups.keys(l.groups.cached) {
		group, known := l.groups.cached[key]
		live, ok := l.groups.live[key]
		if !known { // the removal of another one has let the cache see this one go
			continue
		}
		what, _ := groups.Protect(group, l.pods.ByIndex(groups.Index, key))
		if what != groups.Remove || !ok || live.ResourceVersion != group.ResourceVersion {
			continue
		}
		l.groups.remove(live)
	}
}

// node starts a pod that it may start, or ends one that it is asked to end. It looks at the claim
// as it is: a kubelet reads it from the server.
func (l *life) node() {
	key, ok := l.pick("pod", l.pods.keys(l.pods.live))
	if !ok {
		return
	}
	pod := l.pods.live[key]
	switch _, runs := l.runs[pod.UID]; {
	case pod.Spec.NodeName == "" || pod.Finished():
	case pod.DeletionTimestamp != nil:
		delete(l.runs, pod.UID)
		l.pods.remove(pod)
	case !runs:
		if grants, ok := l.grants(pod); ok {
			l.runs[pod.UID] = grants
		}
	}
}

// grants are the claims of the pod with their devices, if the pod may run.
func (l *life) grants(pod *core.Pod) ([]grant, bool) {
	var out []grant
	for _, name := range claims.Uses(pod) {
		claim, ok := l.claims.live["default/"+name]
		if !ok || claims.CanRun(pod, claim) != nil {
			return nil, false
		}
		out = append(out, grant{name, claim.UID, deviceOf(claim)})
	}
	return out, len(out) == len(pod.Spec.ResourceClaims)
}

func deviceOf(claim *resource.ResourceClaim) string {
	if claim.Status.Allocation == nil {
		return ""
	}
	return claim.Status.Allocation.Devices.Results[0].Device
}

// finish ends a pod's containers by themselves.
func (l *life) finish() {
	for _, key := range l.pods.keys(l.pods.live) {
		if pod := l.pods.live[key]; l.runs[pod.UID] != nil && !pod.Finished() {
			delete(l.runs, pod.UID)
			pod = pod.DeepCopy()
			pod.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}).Draw(l.T, "phase")
			l.pods.put(pod)
			return
		}
	}
}

// sound holds at all times.
func (l *life) sound() {
	holder := map[string]string{}
	entry := map[string]string{}
	for _, key := range l.claims.keys(l.claims.live) {
		claim := l.claims.live[key]
		if device := deviceOf(claim); device != "" {
			if other, ok := holder[device]; ok {
				l.fail("%s is allocated to %s and %s", device, other, claim.Name)
			}
			holder[device] = claim.Name
			if !slices.Contains(claim.Finalizers, claims.Finalizer) {
				l.fail("%s has a device without the finalizer", claim.Name)
			}
		}
		if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
			slot := string(owner.UID) + "/" + claim.Annotations[claims.PodClaimAnnotation]
			if other, ok := entry[slot]; ok {
				l.fail("%s and %s are both for %s", claim.Name, other, slot)
			}
			entry[slot] = claim.Name
		}
	}
	for _, key := range l.pods.keys(l.pods.live) {
		pod := l.pods.live[key]
		l.has(pod, "runs", l.runs[pod.UID])
		if pod.Spec.NodeName != "" && !claims.PodDone(pod) {
			l.has(pod, "was bound", l.bound[pod.UID])
		}
	}
}

// has checks that a pod still has what it runs or was bound with.
func (l *life) has(pod *core.Pod, what string, grants []grant) {
	l.Helper()
	for _, g := range grants {
		claim, ok := l.claims.live["default/"+g.claim]
		if !ok || claim.UID != g.uid || deviceOf(claim) != g.device {
			l.fail("%s %s with %s of %s, which has been taken from it", pod.Name, what, g.device, g.claim)
		}
	}
}

func (l *life) fail(format string, args ...any) {
	l.Helper()
	for _, line := range l.log {
		l.Log(line)
	}
	l.Fatalf(format, args...)
}

// calm lets everybody see everything and get on, so that there is something to disturb; what is
// held back after it is held back from then on.
func (l *life) calm() {
	l.claims.held, l.pods.held, l.groups.held = false, false, false
	for range 2 {
		l.pods.deliver(len(l.pods.pending))
		l.groups.deliver(len(l.groups.pending))
		l.claims.deliver(len(l.claims.pending))
		l.work()
		l.sched.see()
		for range 12 {
			l.sched.step()
		}
	}
	for range 3 {
		l.node()
	}
	l.hold()
}

// rest lets everybody see everything, and work until nobody has anything to do.
func (l *life) rest() {
	l.claims.held, l.pods.held, l.groups.held, l.lost = false, false, false, 0
	for range 12 {
		l.pods.deliver(len(l.pods.pending))
		l.groups.deliver(len(l.groups.pending))
		l.claims.deliver(len(l.claims.pending))
		l.collect()
		l.work()
		l.minute()
		l.work()
		l.protect()
		l.sched.see()
		for range 30 {
			l.sched.step()
		}
		for _, key := range l.pods.keys(l.pods.live) {
			if pod := l.pods.live[key]; pod.DeletionTimestamp != nil {
				delete(l.runs, pod.UID)
				l.pods.remove(pod)
			}
		}
	}
	l.sound()
}

// everybodyLeaves deletes all pods and PodGroups, and takes the workload off.
func (l *life) everybodyLeaves() {
	for _, key := range l.pods.keys(l.pods.live) {
		l.endPod(l.pods.live[key])
	}
	for _, key := range l.groups.keys(l.groups.live) {
		l.endGroup(l.groups.live[key])
	}
	l.foreignGone[workload] = true
	l.rest()
}

// inUse reports whether a pod names the claim that is on a node, or may be about to be: then it is
// the scheduler's to free it.
func (l *life) inUse(claim *resource.ResourceClaim) bool {
	for _, pod := range l.pods.live {
		if !claims.PodDone(pod) && claims.MayUse(pod, claim) {
			return true
		}
	}
	return false
}

// heldForSomebody checks that each allocated claim has consumers, all of which are there. The list
// of a claim that is being deleted takes no more, and stays as it is while pods name it.
func (l *life) heldForSomebody() {
	uids := map[types.UID]bool{workload: !l.foreignGone[workload]}
	for _, pod := range l.pods.live {
		uids[pod.UID] = !claims.PodDone(pod)
	}
	for _, group := range l.groups.live {
		uids[group.UID] = true
	}
	for _, key := range l.claims.keys(l.claims.live) {
		claim := l.claims.live[key]
		if claim.DeletionTimestamp != nil && l.inUse(claim) {
			continue
		}
		if claim.Status.Allocation != nil && len(claim.Status.ReservedFor) == 0 {
			l.fail("%s is allocated for nobody", claim.Name)
		}
		for _, ref := range claim.Status.ReservedFor {
			if !uids[ref.UID] {
				l.fail("%s is held for %s %s, which is gone", claim.Name, ref.Resource, ref.Name)
			}
		}
	}
}

func (l *life) nothingHeld() {
	for _, key := range l.claims.keys(l.claims.live) {
		if claim := l.claims.live[key]; claim.Status.Allocation != nil || len(claim.OwnerReferences) > 0 ||
			len(claim.Finalizers) > 0 {
			l.fail("%s is left: %+v %+v", claim.Name, claim.ObjectMeta, claim.Status.ReservedFor)
		}
	}
	if len(l.pods.live)+len(l.groups.live) > 0 {
		l.fail("pods or PodGroups are left: %v %v", l.pods.keys(l.pods.live), l.groups.keys(l.groups.live))
	}
}

// collect deletes what nobody owns any more, as garbage collection does.
func (l *life) collect() {
	for _, key := range l.claims.keys(l.claims.live) {
		claim := l.claims.live[key]
		if owner := metav1.GetControllerOfNoCopy(claim); owner != nil && claim.DeletionTimestamp == nil && !l.lives(owner) {
			l.deleteClaim(claim)
		}
	}
}

// scheduler is a model of one: it sees the server as it was some time ago, and knows its own
// writes.
type scheduler struct {
	*life
	podView   map[string]*core.Pod
	groupView map[string]*scheduling.PodGroup
	claimView map[string]*resource.ResourceClaim
	job       *placement
}

// placement is a pod on its way to a node.
type placement struct {
	pod        *core.Pod
	done, todo []reservation
}

// reservation is what a claim must have before the pod is bound.
type reservation struct {
	claim    *resource.ResourceClaim
	consumer resourcev1.ResourceClaimConsumerReference
	anyPod   bool
	needed   bool
	device   string // that it has, or is to get
}

// stands reports whether the pod is still covered by the consumers that the plan relies on.
func (r reservation) stands(claim *resource.ResourceClaim) bool {
	anyPod := claim.Status.Allocation.ReservedForAnyPod != nil
	return slices.ContainsFunc(claim.Status.ReservedFor, func(ref resourcev1.ResourceClaimConsumerReference) bool {
		return ref.UID == r.consumer.UID || anyPod && !claims.IsPodConsumer(ref)
	})
}

func (s *scheduler) see() {
	s.podView, s.groupView, s.claimView = maps.Clone(s.pods.live), maps.Clone(s.groups.live), maps.Clone(s.claims.live)
}

// restart loses what was under way.
func (s *scheduler) restart() {
	s.job = nil
	s.see()
}

// step does the next write of the pod that is on its way, or chooses one.
func (s *scheduler) step() {
	switch {
	case s.job == nil:
		s.choose()
	case len(s.job.todo) > 0:
		if !s.write(s.job.todo[0]) {
			s.job = nil
			return
		}
		s.job.done, s.job.todo = append(s.job.done, s.job.todo[0]), s.job.todo[1:]
	default:
		s.bind(s.job.pod)
		s.job = nil
	}
}

func (s *scheduler) choose() {
	for _, key := range s.pods.keys(s.podView) {
		pod := s.podView[key]
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || pod.Finished() {
			continue
		}
		if todo, ok := s.plan(pod); ok {
			s.job = &placement{pod: pod, todo: todo}
			return
		}
	}
}

func (s *scheduler) plan(pod *core.Pod) ([]reservation, bool) {
	var group *scheduling.PodGroup
	if name, member := claims.GroupName(pod); member {
		if group = s.groupView["default/"+name]; group == nil {
			return nil, false
		}
	}
	taken := map[string]bool{}
	for _, claim := range s.claimView {
		taken[deviceOf(claim)] = true
	}
	var todo []reservation
	for _, r := range claims.Resolve(pod, group) {
		claim, ok := s.claimView["default/"+r.Claim]
		if r.State != claims.Named || !ok || r.Check(claim) != nil || claim.DeletionTimestamp != nil {
			return nil, false
		}
		next, ok := s.reservation(pod, group, r, claim, taken)
		if !ok {
			return nil, false
		}
		todo = append(todo, next)
	}
	return todo, true
}

func (s *scheduler) reservation(
	pod *core.Pod, group *scheduling.PodGroup, r claims.Resolution, claim *resource.ResourceClaim, taken map[string]bool,
) (reservation, bool) {
	next := reservation{claim: claim, consumer: claims.PodConsumer(pod)}
	if r.ThroughGroup {
		next.consumer = claims.GroupConsumer(group)
	}
	if claim.Status.Allocation != nil {
		next.device = deviceOf(claim)
		add, problem := claims.Reserve(pod, group, r, claim)
		next.needed = add != nil
		return next, problem == nil
	}
	if ref := claim.Spec.ReservedFor; ref != nil && !r.ThroughGroup {
		next.consumer, next.anyPod = *ref, true
	}
	next.needed = true
	for i := range devices {
		if device := fmt.Sprintf("gpu-%d", i); !taken[device] {
			taken[device], next.device = true, device
			return next, true
		}
	}
	return next, false
}

// write brings the claim to what the plan says, over the version that was seen, the finalizer
// first. What needs no write is looked up.
func (s *scheduler) write(r reservation) bool {
	live, ok := s.claims.live[storeKey(r.claim)]
	if !r.needed {
		return ok && live.UID == r.claim.UID && live.Status.Allocation != nil && live.DeletionTimestamp == nil &&
			r.stands(live)
	}
	if !ok || live.ResourceVersion != r.claim.ResourceVersion {
		return false
	}
	claim := live.DeepCopy()
	if !slices.Contains(claim.Finalizers, claims.Finalizer) {
		claim.Finalizers = append(claim.Finalizers, claims.Finalizer)
		s.claims.put(claim)
		s.check()
		claim = claim.DeepCopy()
	}
	if claim.Status.Allocation == nil {
		allocation := &resource.AllocationResult{}
		allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{
			{Request: "g", Driver: "gpu.example.com", Pool: "n1", Device: r.device},
		}
		if r.anyPod {
			allocation.ReservedForAnyPod = new(true)
		}
		claim.Status.Allocation = allocation
	}
	claim.Status.ReservedFor = append(claim.Status.ReservedFor, r.consumer)
	s.logf("scheduler: %s gets %q for %s %s", claim.Name, r.device, r.consumer.Resource, r.consumer.Name)
	s.claims.put(claim)
	s.claimView[storeKey(claim)] = claim
	s.check()
	return true
}

func (s *scheduler) bind(pod *core.Pod) {
	live, ok := s.pods.live[storeKey(pod)]
	if !ok || live.UID != pod.UID || live.Spec.NodeName != "" || live.DeletionTimestamp != nil {
		return
	}
	s.logf("scheduler: bind %s", pod.Name)
	live = live.DeepCopy()
	live.Spec.NodeName = "n1"
	for _, r := range s.job.done {
		s.life.bound[live.UID] = append(s.life.bound[live.UID], grant{r.claim.Name, r.claim.UID, r.device})
	}
	s.pods.put(live)
	s.check()
	s.podView[storeKey(live)] = live
}
