package cli

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
)

// Snapshot is the state of the applied objects at one time.
type Snapshot struct {
	Applied      []Ref
	PodGroups    []*scheduling.PodGroup
	Claims       []*resource.ResourceClaim
	Pods         []*core.Pod
	Deployments  []*apps.Deployment
	ReplicaSets  []*apps.ReplicaSet
	StatefulSets []*apps.StatefulSet
	DaemonSets   []*apps.DaemonSet
	Jobs         []*batch.Job
	Events       []corev1.Event // optional; used for explanations only
}

// view is a Snapshot with indices.
type view struct {
	Snapshot
	groups       map[types.NamespacedName]*scheduling.PodGroup
	claims       map[types.NamespacedName]*resource.ResourceClaim
	pods         map[types.NamespacedName]*core.Pod
	deployments  map[types.NamespacedName]*apps.Deployment
	replicaSets  map[types.NamespacedName]*apps.ReplicaSet
	statefulSets map[types.NamespacedName]*apps.StatefulSet
	daemonSets   map[types.NamespacedName]*apps.DaemonSet
	jobs         map[types.NamespacedName]*batch.Job
	members      map[types.NamespacedName][]*core.Pod // by PodGroup, sorted
	owned        map[types.UID][]*core.Pod            // by controller, sorted
	setsOf       map[types.UID][]*apps.ReplicaSet     // by Deployment
	events       map[types.UID][]corev1.Event         // by object, oldest first
}

func look(s Snapshot) *view {
	v := &view{
		Snapshot: s,
		groups:   byName(s.PodGroups), claims: byName(s.Claims), pods: byName(s.Pods),
		deployments: byName(s.Deployments), replicaSets: byName(s.ReplicaSets),
		statefulSets: byName(s.StatefulSets), daemonSets: byName(s.DaemonSets), jobs: byName(s.Jobs),
		members: map[types.NamespacedName][]*core.Pod{}, owned: map[types.UID][]*core.Pod{},
		setsOf: map[types.UID][]*apps.ReplicaSet{}, events: map[types.UID][]corev1.Event{},
	}
	pods := slices.Clone(s.Pods)
	slices.SortFunc(pods, func(a, b *core.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range pods {
		if group, ok := claims.GroupName(pod); ok {
			key := types.NamespacedName{Namespace: pod.Namespace, Name: group}
			v.members[key] = append(v.members[key], pod)
		}
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			v.owned[owner.UID] = append(v.owned[owner.UID], pod)
		}
	}
	for _, rs := range s.ReplicaSets {
		if owner := metav1.GetControllerOfNoCopy(rs); owner != nil {
			v.setsOf[owner.UID] = append(v.setsOf[owner.UID], rs)
		}
	}
	for _, event := range s.Events {
		uid := event.InvolvedObject.UID
		v.events[uid] = append(v.events[uid], event)
	}
	for _, events := range v.events {
		slices.SortStableFunc(events, func(a, b corev1.Event) int { return eventTime(a).Compare(eventTime(b).Time) })
	}
	return v
}

func byName[T metav1.Object](objects []T) map[types.NamespacedName]T {
	out := make(map[types.NamespacedName]T, len(objects))
	for _, obj := range objects {
		out[keyOf(obj)] = obj
	}
	return out
}

func eventTime(e corev1.Event) metav1.Time {
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp
	}
	return metav1.NewTime(e.EventTime.Time)
}

func (r Ref) key() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// podsOf returns the pods of a Deployment's ReplicaSets.
func (v *view) podsOf(d *apps.Deployment) []*core.Pod {
	var out []*core.Pod
	for _, rs := range v.setsOf[d.UID] {
		out = append(out, v.owned[rs.UID]...)
	}
	return out
}

// ownedBy returns the pods whose controller is the object that ref names.
func ownedBy[T metav1.Object](v *view, objects map[types.NamespacedName]T, ref Ref) []*core.Pod {
	if owner, ok := objects[ref.key()]; ok {
		return v.owned[owner.GetUID()]
	}
	return nil
}

// complaint returns the message of the last warning event about an object.
func (v *view) complaint(uid types.UID) string {
	events := v.events[uid]
	for _, event := range slices.Backward(events) {
		if event.Type == corev1.EventTypeWarning {
			return event.Message
		}
	}
	return ""
}
