package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/model"
)

// World is the objects of a Snapshot as they change, with the State of a scheduler that follows
// them. Objects are replaced, never changed, so that those of the Snapshot stay as they are.
type World struct {
	Features features.Set
	State    *model.State
	feed     *cluster.Feed
	kinds    []kindStore

	Nodes      *Store[*corev1.Node]
	Namespaces *Store[*corev1.Namespace]
	Pods       *Store[*core.Pod]

	Workloads       *Store[*scheduling.Workload]
	PodGroups       *Store[*scheduling.PodGroup]
	PriorityClasses *Store[*schedulingv1.PriorityClass]
	Composites      *Store[*v1alpha3.CompositePodGroup]

	Claims           *Store[*resource.ResourceClaim]
	Templates        *Store[*resource.ResourceClaimTemplate]
	ClusterTemplates *Store[*resourcev1alpha3.ClusterResourceClaimTemplate]
	Classes          *Store[*resourcev1.DeviceClass]
	Slices           *Store[*resourcev1.ResourceSlice]
	TaintRules       *Store[*resourcev1.DeviceTaintRule]

	Quotas      *Store[*corev1.ResourceQuota]
	LimitRanges *Store[*corev1.LimitRange]
	Budgets     *Store[*policyv1.PodDisruptionBudget]
	Services    *Store[*corev1.Service]

	Volumes      *Store[*corev1.PersistentVolume]
	VolumeClaims *Store[*corev1.PersistentVolumeClaim]
	CSINodes     *Store[*storagev1.CSINode]

	Jobs         *Store[*batch.Job]
	Deployments  *Store[*apps.Deployment]
	ReplicaSets  *Store[*apps.ReplicaSet]
	StatefulSets *Store[*apps.StatefulSet]
	DaemonSets   *Store[*apps.DaemonSet]
}

// World returns a World that begins with the objects of the Snapshot. Pods with another
// spec.schedulerName are not scheduled by its scheduler.
func (s *Snapshot) World(schedulerName string) (*World, error) {
	on, err := s.Features()
	if err != nil {
		return nil, err
	}
	w := &World{Features: on, State: model.NewState()}
	w.fill(&s.Objects)
	caches := cluster.Caches{
		Features: on,
		Nodes:    w.Nodes, Namespaces: w.Namespaces, Classes: w.Classes, Slices: w.Slices, TaintRules: w.TaintRules,
		Budgets: w.Budgets, Services: w.Services, Volumes: w.Volumes, VolumeClaims: w.VolumeClaims,
		Claims: w.Claims, PodGroups: w.PodGroups, Pods: w.Pods,
	}
	if w.Composites.Len() > 0 { // they are served only if the feature is on
		w.Features = on.With(features.CompositePodGroup)
	}
	if w.Features.On(features.CompositePodGroup) {
		caches.Features, caches.Composites = w.Features, w.Composites
	}
	if w.CSINodes.Len() > 0 {
		caches.CSINodes = w.CSINodes
	}
	if w.feed, err = cluster.NewFeed(caches, schedulerName); err != nil {
		return nil, err
	}
	for _, kind := range w.kinds {
		kind.reportAll()
	}
	w.Apply()
	return w, nil
}

// fill makes the Stores. Those that the State follows are in the order in which it must know them:
// pods come after what they name.
func (w *World) fill(o *Objects) {
	w.Nodes, w.Namespaces = stored(w, o.Nodes), stored(w, o.Namespaces)
	w.Classes, w.Slices, w.TaintRules = stored(w, o.Classes), stored(w, o.Slices), stored(w, o.TaintRules)
	w.Budgets, w.Services = stored(w, o.Budgets), stored(w, o.Services)
	w.Volumes, w.VolumeClaims, w.CSINodes = stored(w, o.Volumes), stored(w, o.VolumeClaims), stored(w, o.CSINodes)
	w.Composites = stored(w, o.Composites)
	w.Claims, w.PodGroups, w.Pods = stored(w, o.Claims), stored(w, o.PodGroups), stored(w, o.Pods)

	w.Workloads, w.PriorityClasses = stored(w, o.Workloads), stored(w, o.PriorityClasses)
	w.Templates, w.ClusterTemplates = stored(w, o.Templates), stored(w, o.ClusterTemplates)
	w.Quotas, w.LimitRanges = stored(w, o.Quotas), stored(w, o.LimitRanges)
	w.Jobs, w.Deployments, w.ReplicaSets = stored(w, o.Jobs), stored(w, o.Deployments), stored(w, o.ReplicaSets)
	w.StatefulSets, w.DaemonSets = stored(w, o.StatefulSets), stored(w, o.DaemonSets)
}

func stored[T client.Object](w *World, objects []T) *Store[T] {
	s := &Store[T]{objects: make(map[model.Key]T, len(objects)), indexes: map[string]*index[T]{}}
	for _, object := range objects {
		s.objects[model.KeyOf(object)] = object
	}
	w.kinds = append(w.kinds, s)
	return s
}

// kindStore is a Store of any kind.
type kindStore interface {
	put(object client.Object) bool
	get(like client.Object) (client.Object, bool)
	remove(like client.Object) bool
	each(f func(client.Object))
	reportAll()
}

// Apply brings the State up to date, and returns what that may help.
func (w *World) Apply() []model.Topic { return w.feed.Apply(w.State) }

// Put adds an object, or replaces the one of the same name, without the parts that do not decide.
// It reports whether a World has objects of the kind.
func (w *World) Put(object runtime.Object) bool {
	o, ok := object.(client.Object)
	if !ok {
		return false
	}
	for _, kind := range w.kinds {
		if kind.put(o) {
			return true
		}
	}
	return false
}

// Find returns the object of the same kind and name.
func (w *World) Find(like client.Object) (client.Object, bool) {
	for _, kind := range w.kinds {
		if object, ok := kind.get(like); ok {
			return object, true
		}
	}
	return nil, false
}

// Remove removes the object of the same kind and name, and reports whether it was there.
func (w *World) Remove(like client.Object) bool {
	for _, kind := range w.kinds {
		if kind.remove(like) {
			return true
		}
	}
	return false
}

// Each calls f for every object, in the order of kinds and names.
func (w *World) Each(f func(client.Object)) {
	for _, kind := range w.kinds {
		kind.each(f)
	}
}

// Snapshot returns the present objects as a Snapshot with the description and the events of
// another.
func (w *World) Snapshot(of *Snapshot) *Snapshot {
	s := *of
	s.Objects = Objects{
		Nodes: w.Nodes.List(), Namespaces: w.Namespaces.List(), Pods: w.Pods.List(),
		Workloads: w.Workloads.List(), PodGroups: w.PodGroups.List(), PriorityClasses: w.PriorityClasses.List(),
		Composites: w.Composites.List(),
		Claims:     w.Claims.List(), Templates: w.Templates.List(), ClusterTemplates: w.ClusterTemplates.List(),
		Classes: w.Classes.List(), Slices: w.Slices.List(), TaintRules: w.TaintRules.List(),
		Quotas: w.Quotas.List(), LimitRanges: w.LimitRanges.List(), Budgets: w.Budgets.List(), Services: w.Services.List(),
		Volumes: w.Volumes.List(), VolumeClaims: w.VolumeClaims.List(), CSINodes: w.CSINodes.List(),
		Jobs: w.Jobs.List(), Deployments: w.Deployments.List(), ReplicaSets: w.ReplicaSets.List(),
		StatefulSets: w.StatefulSets.List(), DaemonSets: w.DaemonSets.List(),
		Events: of.Objects.Events,
	}
	return &s
}
