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

// Gathered is all that a decision depends on.
type Gathered struct {
	Set    *apps.StatefulSet
	Pods   []*core.Pod                              // the set's, in any order
	Claims map[string]*corev1.PersistentVolumeClaim // by name; at least those of Pods and of the ordinals of slotsOf
	// Current is the revision from which the set moves to Update; the two are equal when no rollout goes on. Collisions are
	// the hash collisions of revisions so far.
	Current, Update Revision
	Collisions      int32
	Now             time.Time
}

// Member is a pod to be created, with the volume claims that it lacks.
type Member struct {
	Claims []*corev1.PersistentVolumeClaim
	Pod    *core.Pod
}

// Plan is what brings a set closer to its spec.
type Plan struct {
	Supply  []*corev1.PersistentVolumeClaim // claims to be created for pods that wait for them
	Own     []*corev1.PersistentVolumeClaim // claims to be updated: their owners differ
	Foreign []string                        // those of Own that another controller manages, against the retention policy
	Create  []Member
	Label   []*core.Pod // pods that lack the labels of their identity
	Delete  []*core.Pod
	Blocked []string // why pods that are missing are not created
	Status  appsv1.StatefulSetStatus
	Recheck time.Duration // until a pod becomes available by itself; 0: none will
}

// slot is an ordinal, with the pod that has it, if any.
type slot struct {
	ordinal int
	pod     *core.Pod
	going   bool // the plan deletes the pod
}

// pass is a decision in the making.
type pass struct {
	Gathered
	ordered   bool
	slots     []*slot // the wanted ordinals, from the lowest: those that have a pod, and the first burst of the others
	condemned []*slot // pods beyond them, from the highest
	plan      Plan
}

// Decide makes the next step.
func Decide(g Gathered) Plan {
	p := newPass(g)
	if g.Set.DeletionTimestamp == nil && p.fill() && p.shrink() {
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

// slotsOf are the wanted ordinals that a pass looks at, in their order. A set may ask for more pods than any machine has
// room for the names of.
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

// isAvailable says that a slot has a pod which counts. A pod that is being deleted does not.
func (p *pass) isAvailable(s *slot) bool {
	return s.pod != nil && s.pod.DeletionTimestamp == nil && replica.Available(s.pod, p.Set.Spec.MinReadySeconds, p.Now)
}

// fill takes care of the wanted ordinals; it returns false if the set must not get smaller or newer yet.
func (p *pass) fill() bool {
	for _, s := range p.slots {
		switch {
		case s.pod == nil:
			p.create(s)
		case s.pod.Finished():
			// Whatever the pod ended with: a pod that was stopped from outside may well have succeeded.
			p.remove(s)
		default:
			p.repair(s)
		}
		if p.ordered && !p.isAvailable(s) {
			return false
		}
	}
	return true
}

// create plans the pod of a slot, unless a volume claim stands in its way that has to go first.
func (p *pass) create(s *slot) {
	for _, name := range claimNames(p.Set, s.ordinal) {
		claim, ok := p.Claims[name]
		switch {
		case !ok:
		case isLeftover(p.Set, claim, s.ordinal):
			return // it goes with the pod that was scaled away, which is not worth a word
		case claim.DeletionTimestamp != nil:
			p.plan.Blocked = append(p.plan.Blocked, fmt.Sprintf("pod %s: persistentvolumeclaim %s is being deleted", podName(p.Set, s.ordinal), name))
			return
		}
	}
	p.plan.Create = append(p.plan.Create, Member{
		Claims: p.missing(s.ordinal),
		Pod:    newPod(p.Set, p.revisionFor(s.ordinal-start(p.Set)), s.ordinal),
	})
}

// missing are the volume claims that an ordinal lacks.
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

// repair puts right what is wrong about a pod that is there: its labels, and its volume claims.
func (p *pass) repair(s *slot) {
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
	p.own(s)
}

// own gives the volume claims of a pod the owners that the retention policy wants.
func (p *pass) own(s *slot) {
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

// shrink takes care of the pods that are too many; it returns false while there are some, in an ordered set.
func (p *pass) shrink() bool {
	for _, s := range p.condemned {
		p.own(s)
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
	// One that is not available goes only if no lower one is waited for, or if it can become available no more.
	highest, lower := p.condemned[0], p.condemned[1:]
	waits := slices.ContainsFunc(lower, func(s *slot) bool { return !p.isAvailable(s) })
	if p.isAvailable(highest) || highest.pod.Finished() || !waits {
		p.remove(highest)
	}
	return false
}
