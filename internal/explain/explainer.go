package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/snapshot"
)

// DefaultScheduler is spec.schedulerName of pods that name no other scheduler.
const DefaultScheduler = "default-scheduler"

// AttachedScheduler is spec.schedulerName of the pods that allot attach schedules by default.
const AttachedScheduler = "allot"

// NotFoundError is an object that the snapshot does not have.
type NotFoundError struct {
	Object  Object
	Similar []string // names that are similar
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("%s does not exist", e.Object)
	if len(e.Similar) > 0 {
		text += "; there is " + strings.Join(e.Similar, ", ")
	}
	return text
}

// Explainer explains objects of one snapshot.
type Explainer struct {
	snap     *snapshot.Snapshot
	features features.Set
	now      time.Time
	reads    *alloc.Allocator // evaluates nothing; it knows what expressions read
	states   map[string]*view

	pods       map[model.Key]*core.Pod
	claims     map[model.Key]*resource.ResourceClaim
	groups     map[model.Key]*scheduling.PodGroup
	composites map[model.Key]*v1alpha3.CompositePodGroup
	members    map[model.Key][]*core.Pod // by PodGroup
	users      map[model.Key][]*core.Pod // by claim
}

// view is the State of one scheduler.
type view struct {
	state  *model.State
	placer *sched.Placer
}

// New returns an Explainer. The snapshot must not be changed afterwards.
func New(snap *snapshot.Snapshot) (*Explainer, error) {
	on, err := snap.Features()
	if err != nil {
		return nil, err
	}
	o := &snap.Objects
	e := &Explainer{
		snap: snap, features: on, now: snap.Taken.Time, reads: alloc.New(), states: map[string]*view{},
		pods: byKey(o.Pods), claims: byKey(o.Claims), groups: byKey(o.PodGroups), composites: byKey(o.Composites),
		members: map[model.Key][]*core.Pod{}, users: map[model.Key][]*core.Pod{},
	}
	for _, pod := range o.Pods {
		if name, ok := claims.GroupName(pod); ok {
			key := model.Key{Namespace: pod.Namespace, Name: name}
			e.members[key] = append(e.members[key], pod)
		}
		for _, r := range claims.Resolve(pod, e.groupOf(pod)) {
			if key := (model.Key{Namespace: pod.Namespace, Name: r.Claim}); r.Claim != "" &&
				!slices.Contains(e.users[key], pod) {
				e.users[key] = append(e.users[key], pod)
			}
		}
		if status := pod.Status.ExtendedResourceClaimStatus; status != nil {
			key := model.Key{Namespace: pod.Namespace, Name: status.ResourceClaimName}
			e.users[key] = append(e.users[key], pod)
		}
	}
	return e, nil
}

func byKey[T client.Object](objects []T) map[model.Key]T {
	index := make(map[model.Key]T, len(objects))
	for _, object := range objects {
		index[model.KeyOf(object)] = object
	}
	return index
}

// groupOf returns the PodGroup that the pod names, or nil if it does not exist.
func (e *Explainer) groupOf(pod *core.Pod) *scheduling.PodGroup {
	name, ok := claims.GroupName(pod)
	if !ok {
		return nil
	}
	return claims.SeenGroup(e.features, e.groups[model.Key{Namespace: pod.Namespace, Name: name}])
}

// view returns the State of a scheduler.
func (e *Explainer) view(schedulerName string) (*view, error) {
	if known, ok := e.states[schedulerName]; ok {
		return known, nil
	}
	state, err := e.snap.State(schedulerName)
	if err != nil {
		return nil, err
	}
	v := &view{state: state, placer: sched.NewPlacer(state, sched.DefaultSteps)}
	e.states[schedulerName] = v
	return v, nil
}

// Use has the Explainer use this State of the snapshot for the pods of a scheduler, instead of
// making one.
func (e *Explainer) Use(schedulerName string, state *model.State, placer *sched.Placer) {
	e.states[schedulerName] = &view{state: state, placer: placer}
}

// report returns a Report about an object, with what the snapshot lacks.
func (e *Explainer) report(kind string, key model.Key) *Report {
	r := &Report{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
		Subject:  Object{Kind: kind, Namespace: key.Namespace, Name: key.Name},
	}
	for _, unknown := range e.snap.Unknown {
		r.Unknown = append(r.Unknown, unknown.String())
	}
	return r
}

// scheduler adds the name of the scheduler of the subject, and whether that is allot.
func (e *Explainer) scheduler(r *Report, name string) {
	switch {
	case e.snap.Server.Allot && name == DefaultScheduler, name == AttachedScheduler:
		r.fact("Scheduler", name+" (allot)")
	case name == DefaultScheduler:
		r.Recomputed = true
		r.fact("Scheduler", name+" (kube-scheduler decides; allot has computed this answer from the API)")
	default:
		r.Recomputed = true
		r.fact("Scheduler", name+" (it decides; allot has computed this answer from the API)")
	}
}

// ago returns a time with how long ago it was.
func (e *Explainer) ago(t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s (%s ago)", t.UTC().Format(time.RFC3339), e.age(t))
}

// age returns how long ago a time was.
func (e *Explainer) age(t metav1.Time) string { return shortDuration(e.now.Sub(t.Time)) }

// notFound returns an error about a missing object, with the names in its namespace that are
// similar.
func notFound[T client.Object](kind string, key model.Key, objects []T) error {
	var names []string
	for _, object := range objects {
		if object.GetNamespace() == key.Namespace {
			names = append(names, object.GetName())
		}
	}
	err := &NotFoundError{
		Object:  Object{Kind: kind, Namespace: key.Namespace, Name: key.Name},
		Similar: similar(key.Name, names),
	}
	for _, object := range objects {
		if object.GetName() == key.Name && object.GetNamespace() != key.Namespace && len(err.Similar) < maxSimilar {
			err.Similar = append(err.Similar, "one in namespace "+object.GetNamespace())
		}
	}
	return err
}

// podByUID returns the pod in a namespace with this UID, or nil.
func (e *Explainer) podByUID(key model.Key, uid types.UID) *core.Pod {
	if pod := e.pods[key]; pod != nil && (uid == "" || pod.UID == uid) {
		return pod
	}
	return nil
}
