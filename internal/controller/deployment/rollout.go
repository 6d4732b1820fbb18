package deployment

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

// Gathered is all that a decision depends on.
type Gathered struct {
	Deployment *apps.Deployment
	Sets       []*apps.ReplicaSet // those that the Deployment owns
	// PodsLeft says for each set, by name, that a pod of it has not finished yet, be it
	// terminating. Needed for Recreate only.
	PodsLeft map[string]bool
	Now      time.Time
}

// Plan is what brings a rollout one step further. Its objects are copies.
type Plan struct {
	Create *apps.ReplicaSet // nil: none
	Update []Update
	Delete []*apps.ReplicaSet
	// Deployment has the annotations and the status that are to be written; Changed
	// says whether they differ from what is there.
	Deployment *apps.Deployment
	Changed    bool
	// Recheck is when to decide again if nothing changes before, for the progress
	// deadline; 0: never.
	Recheck time.Duration
}

// Update is a changed ReplicaSet; From is its number of replicas before.
type Update struct {
	Set  *apps.ReplicaSet
	From int32
}

// rollout is the state of one decision: Decide's steps change the copies in it.
type rollout struct {
	d        *apps.Deployment // a copy
	replicas int32            // of d
	surge    int32            // how many pods may be asked for beyond replicas
	missing  int32            // how many of replicas may be unavailable
	current  *set             // has d's template; nil: not there yet
	old      []*set           // all others, oldest first
	podsLeft map[string]bool
	now      time.Time
}

// set is a ReplicaSet in a rollout.
type set struct {
	before *apps.ReplicaSet // nil: to be created
	*apps.ReplicaSet
	changed, remove bool
}

// Decide makes the next step of a rollout.
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
		s := &set{before: rs, ReplicaSet: rs}
		// The oldest one with the template is the current one, should there be two.
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

// plan lists what the steps changed.
func (r *rollout) plan(g Gathered) Plan {
	plan := Plan{Deployment: r.d, Changed: !sameStatus(g.Deployment, r.d), Recheck: r.recheck()}
	for _, s := range r.all() {
		switch {
		case s.before == nil:
			plan.Create = s.ReplicaSet
		case s.remove:
			plan.Delete = append(plan.Delete, s.ReplicaSet)
		case s.changed:
			plan.Update = append(plan.Update, Update{Set: s.ReplicaSet, From: sizeOf(s.before)})
		}
	}
	return plan
}

// all are the old sets, oldest first, and the current one.
func (r *rollout) all() []*set {
	if r.current == nil {
		return r.old
	}
	return append(slices.Clone(r.old), r.current)
}

// active are the sets of all that ask for pods.
func active(sets []*set) []*set {
	return slices.DeleteFunc(slices.Clone(sets), func(s *set) bool { return s.size() == 0 })
}

// edit makes s a copy that may be changed.
func (s *set) edit() {
	if s.changed || s.before == nil {
		return
	}
	rs := *s.ReplicaSet
	rs.Annotations = cloneMap(rs.Annotations)
	s.ReplicaSet, s.changed = &rs, true
}

func (s *set) size() int32 { return sizeOf(s.ReplicaSet) }

// resize asks s for n pods, and records for what Deployment size that is right.
func (r *rollout) resize(s *set, n int32) {
	if s.size() != n {
		s.edit()
		s.Spec.Replicas = &n
	}
	r.recordSize(s)
}

// resizeIfNeeded is resize that leaves a set of the right size alone; it reports
// whether there was something to do.
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

// asked is the number of pods that sets ask for together.
func asked(sets []*set) int32 { return sum(sets, (*set).size) }

func available(sets []*set) int32 {
	return sum(sets, func(s *set) int32 { return s.Status.AvailableReplicas })
}

// available returns how many pods of the set can count on being available: its status may be from before it was
// made smaller.
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
	for k, v := range m {
		clone[k] = v
	}
	return clone
}
