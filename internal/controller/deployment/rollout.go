package deployment

import (
	"cmp"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

// Gathered is the input of a decision.
type Gathered struct {
	Deployment *apps.Deployment
	Sets       []*apps.ReplicaSet // ReplicaSets of the Deployment
	// PodsLeft has the names of sets with unfinished pods, including terminating ones. Required
	// only for Recreate.
	PodsLeft map[string]bool
	Now      time.Time
}

// Plan contains the writes of one step. Its objects are copies.
type Plan struct {
	Create *apps.ReplicaSet // nil for none
	Update []Update
	Delete []*apps.ReplicaSet
	// Deployment has the annotations and status to write; Changed is set if they differ from the
	// current ones.
	Deployment *apps.Deployment
	Changed    bool
	// Recheck is the time until the next decision without another event, for the progress deadline;
	// 0 for none.
	Recheck time.Duration
}

// Update is a changed ReplicaSet. From is the number of replicas before.
type Update struct {
	Set  *apps.ReplicaSet
	From int32
}

// rollout is the state of one decision. The steps of Decide modify the copies in it.
type rollout struct {
	d        *apps.Deployment // a copy
	replicas int32            // replicas of d
	surge    int32            // number of pods permitted beyond replicas
	missing  int32            // number of replicas that may be unavailable
	current  *set             // set with d's template; nil if it does not exist yet
	old      []*set           // all others, oldest first
	podsLeft map[string]bool
	now      time.Time
}

// set is a ReplicaSet in a rollout.
type set struct {
	stored *apps.ReplicaSet // nil if the set is to be created
	*apps.ReplicaSet
	changed, remove bool
}

// Decide takes the next step of a rollout.
func Decide(g Gathered) (Plan, error) {
	r, err := newRollout(g)
	if err != nil {
		return Plan{}, err
	}
	if r.d.DeletionTimestamp != nil {
		r.d.Status = r.status()
		return r.plan(g), nil
	}
	r.markPaused()
	r.syncCurrent()
	switch {
	case r.d.Spec.Paused:
		r.scaleAll()
		r.cleanUp()
		r.d.Status = r.status()
	case r.isScaled():
		r.scaleAll()
		r.d.Status = r.status()
	case r.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		r.recreate()
		r.d.Status = r.progress(r.status())
	default:
		r.roll()
		r.d.Status = r.progress(r.status())
	}
	return r.plan(g), nil
}

func newRollout(g Gathered) (*rollout, error) {
	d := *g.Deployment
	d.Annotations = cloneMap(d.Annotations)
	d.Status.Conditions = slices.Clone(d.Status.Conditions)
	surge, missing, err := limits(&d)
	if err != nil {
		return nil, err
	}
	r := &rollout{
		d: &d, replicas: replicasOf(&d), surge: surge, missing: missing, podsLeft: g.PodsLeft, now: g.Now,
	}
	for _, rs := range slices.SortedStableFunc(slices.Values(g.Sets), byAge) {
		s := &set{stored: rs, ReplicaSet: rs}
		// If several sets have the template, the oldest one is current.
		if r.current == nil && sameTemplate(&rs.Spec.Template, &d.Spec.Template) {
			r.current = s
			continue
		}
		r.old = append(r.old, s)
	}
	return r, nil
}

func byAge(a, b *apps.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// plan returns the changes of the steps.
func (r *rollout) plan(g Gathered) Plan {
	plan := Plan{Deployment: r.d, Changed: !sameStatus(g.Deployment, r.d), Recheck: r.recheck()}
	for _, s := range r.allSets() {
		switch {
		case s.stored == nil:
			plan.Create = s.ReplicaSet
		case s.remove:
			plan.Delete = append(plan.Delete, s.ReplicaSet)
		case s.changed:
			plan.Update = append(plan.Update, Update{Set: s.ReplicaSet, From: sizeOf(s.stored)})
		}
	}
	return plan
}

// allSets returns the old sets, oldest first, and the current one.
func (r *rollout) allSets() []*set {
	if r.current == nil {
		return r.old
	}
	return append(slices.Clone(r.old), r.current)
}

// activeSets returns the sets that request pods.
func activeSets(sets []*set) []*set {
	return slices.DeleteFunc(slices.Clone(sets), func(s *set) bool { return s.size() == 0 })
}

// makeEditable replaces the set with a copy that may be modified.
func (s *set) makeEditable() {
	if s.changed || s.stored == nil {
		return
	}
	rs := *s.ReplicaSet
	rs.Annotations = cloneMap(rs.Annotations)
	s.ReplicaSet, s.changed = &rs, true
}

func (s *set) size() int32 { return sizeOf(s.ReplicaSet) }

// resize sets the replicas of s to n, and records the size of the Deployment.
func (r *rollout) resize(s *set, n int32) {
	if s.size() != n {
		s.makeEditable()
		s.Spec.Replicas = &n
	}
	r.recordSize(s)
}

// resizeIfNeeded resizes a set unless it has the right size, and reports whether it did.
func (r *rollout) resizeIfNeeded(s *set, n int32) bool {
	if s.size() == n {
		return false
	}
	r.resize(s, n)
	return true
}

func sizeOf(rs *apps.ReplicaSet) int32 {
	if rs.Spec.Replicas == nil {
		return 1
	}
	return *rs.Spec.Replicas
}

func replicasOf(d *apps.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// requested returns the number of pods that the sets request together.
func requested(sets []*set) int32 { return sum(sets, (*set).size) }

func available(sets []*set) int32 {
	return sum(sets, func(s *set) int32 { return s.Status.AvailableReplicas })
}

// available returns how many pods of the set are certainly available: its status may be from before
// it was scaled down.
func (s *set) available() int32 { return min(s.size(), s.Status.AvailableReplicas) }

func sum(sets []*set, of func(*set) int32) int32 {
	var total int32
	for _, s := range sets {
		total += of(s)
	}
	return total
}

func cloneMap(m map[string]string) map[string]string {
	clone := make(map[string]string, len(m)+1)
	maps.Copy(clone, m)
	return clone
}
