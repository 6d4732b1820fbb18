package statefulset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// Gathered is the input of Decide.
type Gathered struct {
	Set  *apps.StatefulSet
	Pods []*core.Pod // pods of the set, in any order
	// by name; at least those of Pods and of the ordinals of slotsOf
	Claims map[string]*corev1.PersistentVolumeClaim
	// Current is the revision from which the set is updated to Update. They are equal when no
	// rollout is in progress. Collisions is the number of hash collisions of revisions so far.
	Current, Update Revision
	Collisions      int32
	Now             time.Time
}

// Member is a pod to be created, with its missing volume claims.
type Member struct {
	Claims []*corev1.PersistentVolumeClaim
	Pod    *core.Pod
}

// Plan is the next step towards the spec of a set.
type Plan struct {
	Supply  []*corev1.PersistentVolumeClaim // claims to be created for pods that wait for them
	Own     []*corev1.PersistentVolumeClaim // claims with owners to be updated
	Foreign []string                        // claims in Own that have another controller, despite the retention policy
	Create  []Member
	Label   []*core.Pod // pods without the labels of their identity
	Delete  []*core.Pod
	Blocked []string // reasons why missing pods are not created
	Status  appsv1.StatefulSetStatus
	Recheck time.Duration // time until the next pod becomes available; 0 for none
}

// slot is an ordinal with its pod, if it has one.
type slot struct {
	ordinal int
	pod     *core.Pod
	going   bool // the plan deletes the pod
}

// pass is a decision in progress.
type pass struct {
	Gathered
	ordered bool
	// wanted ordinals, in order: those with a pod, and the first burst of the others
	slots     []*slot
	condemned []*slot // pods with other ordinals, from the highest
	plan      Plan
}

// Decide takes the next step.
func Decide(g Gathered) Plan {
	p := newPass(g)
	if g.Set.DeletionTimestamp == nil && p.fillOrdinals() && p.removeSurplus() {
		p.update()
	}
	p.plan.Status = p.status()
	if left, ok := replica.NextAvailability(g.Pods, g.Set.Spec.MinReadySeconds, g.Now); ok {
		p.plan.Recheck = left
	}
	return p.plan
}

func newPass(g Gathered) *pass {
	p := &pass{Gathered: g, ordered: g.Set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement}
	wanted := map[int]*core.Pod{}
	for _, pod := range g.Pods {
		ordinal, ok := ordinalOf(g.Set, pod)
		switch {
		case !ok:
		case isWanted(g.Set, ordinal):
			wanted[ordinal] = pod
		default:
			p.condemned = append(p.condemned, &slot{ordinal: ordinal, pod: pod})
		}
	}
	for _, ordinal := range slotsOf(g.Set, wanted) {
		p.slots = append(p.slots, &slot{ordinal: ordinal, pod: wanted[ordinal]})
	}
	slices.SortFunc(p.condemned, func(a, b *slot) int { return cmp.Compare(b.ordinal, a.ordinal) })
	return p
}

// slotsOf returns the wanted ordinals that a pass considers, in order. A set may request more pods
// than fit in memory.
func slotsOf(set *apps.StatefulSet, pods map[int]*core.Pod) []int {
	var ordinals []int
	lacking, end := 0, start(set)+replicas(set)
	for ordinal := start(set); ordinal < end && lacking < burst; ordinal++ {
		if pods[ordinal] == nil {
			lacking++
		}
		ordinals = append(ordinals, ordinal)
	}
	for _, ordinal := range slices.Sorted(maps.Keys(pods)) {
		if ordinal > ordinals[len(ordinals)-1] {
			ordinals = append(ordinals, ordinal)
		}
	}
	return ordinals
}

// isAvailable reports whether a slot has an available pod that is not being deleted.
func (p *pass) isAvailable(s *slot) bool {
	return s.pod != nil && s.pod.DeletionTimestamp == nil && replica.Available(s.pod, p.Set.Spec.MinReadySeconds, p.Now)
}

// fillOrdinals handles the wanted ordinals. It returns false if the set must not be scaled down or updated
// yet.
func (p *pass) fillOrdinals() bool {
	for _, s := range p.slots {
		switch {
		case s.pod == nil:
			p.create(s)
		case s.pod.Finished():
			// A pod is replaced whatever its phase: one that was stopped from outside may have
			// succeeded.
			p.remove(s)
		default:
			p.repairPod(s)
		}
		if p.ordered && !p.isAvailable(s) {
			return false
		}
	}
	return true
}

// create plans the pod of a slot, unless one of its volume claims must be deleted first.
func (p *pass) create(s *slot) {
	for _, name := range claimNames(p.Set, s.ordinal) {
		claim, ok := p.Claims[name]
		switch {
		case !ok:
		case isLeftover(p.Set, claim, s.ordinal):
			return // it is deleted with the pod that was scaled away, which is not reported
		case claim.DeletionTimestamp != nil:
			p.plan.Blocked = append(p.plan.Blocked,
				fmt.Sprintf("pod %s: persistentvolumeclaim %s is being deleted", podName(p.Set, s.ordinal), name))
			return
		}
	}
	p.plan.Create = append(p.plan.Create, Member{
		Claims: p.missing(s.ordinal),
		Pod:    newPod(p.Set, p.revisionFor(s.ordinal-start(p.Set)), s.ordinal),
	})
}

// missing returns the volume claims that an ordinal lacks.
func (p *pass) missing(ordinal int) []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for i := range p.Set.Spec.VolumeClaimTemplates {
		template := &p.Set.Spec.VolumeClaimTemplates[i]
		if _, ok := p.Claims[claimName(p.Set, template.Name, ordinal)]; !ok {
			claims = append(claims, newClaim(p.Set, template, ordinal))
		}
	}
	return claims
}

// repairPod corrects the labels of an existing pod and its volume claims.
func (p *pass) repairPod(s *slot) {
	if s.pod.DeletionTimestamp != nil {
		return
	}
	if s.pod.Status.Phase == corev1.PodPending {
		p.plan.Supply = append(p.plan.Supply, p.missing(s.ordinal)...)
	}
	for key, value := range identity(s.pod.Name, s.ordinal) {
		if s.pod.Labels[key] != value {
			p.plan.Label = append(p.plan.Label, s.pod)
			break
		}
	}
	p.setClaimOwners(s)
}

// setClaimOwners sets the owners of a pod's volume claims as the retention policy requires.
func (p *pass) setClaimOwners(s *slot) {
	for _, name := range claimNames(p.Set, s.ordinal) {
		claim, ok := p.Claims[name]
		if !ok {
			continue
		}
		refs, changed, foreign := ownersOf(p.Set, s.pod, s.ordinal, claim)
		if !changed {
			continue
		}
		if foreign {
			p.plan.Foreign = append(p.plan.Foreign, name)
		}
		updated := *claim
		updated.OwnerReferences = refs
		p.plan.Own = append(p.plan.Own, &updated)
	}
}

func (p *pass) remove(s *slot) {
	if s.pod.DeletionTimestamp == nil && !s.going {
		s.going = true
		p.plan.Delete = append(p.plan.Delete, s.pod)
	}
}

// removeSurplus handles surplus pods. It returns false while an ordered set has any.
func (p *pass) removeSurplus() bool {
	for _, s := range p.condemned {
		p.setClaimOwners(s)
	}
	if !p.ordered {
		for _, s := range p.condemned {
			p.remove(s)
		}
		return true
	}
	if len(p.condemned) == 0 {
		return true
	}
	// A pod that is not available is deleted only if no lower one is waited for, or if it can never
	// become available.
	highest, lower := p.condemned[0], p.condemned[1:]
	waits := slices.ContainsFunc(lower, func(s *slot) bool { return !p.isAvailable(s) })
	if p.isAvailable(highest) || highest.pod.Finished() || !waits {
		p.remove(highest)
	}
	return false
}
