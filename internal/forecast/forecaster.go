package forecast

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/snapshot"
)

// Forecaster makes Plans about one Snapshot.
type Forecaster struct {
	snap   *snapshot.Snapshot
	server Server
	// Namespace is that of objects that name none.
	Namespace string
}

// New returns a Forecaster. The Snapshot must not be changed afterwards.
func New(snap *snapshot.Snapshot, server Server) *Forecaster {
	return &Forecaster{snap: ofOneScheduler(snap), server: server, Namespace: "default"}
}

// Plan returns what would happen.
func (f *Forecaster) Plan(changes Changes) (*Plan, error) {
	s, err := f.simulate(changes)
	if err != nil {
		return nil, err
	}
	return f.plan(s)
}

// After returns the Snapshot of the cluster after the Changes.
func (f *Forecaster) After(changes Changes) (*snapshot.Snapshot, error) {
	s, err := f.simulate(changes)
	if err != nil {
		return nil, err
	}
	return s.world.Snapshot(f.snap), nil
}

// simulate makes the Changes, and has controllers and the scheduler work until nothing changes.
func (f *Forecaster) simulate(changes Changes) (*simulation, error) {
	s, err := newSimulation(f.snap, f.server)
	if err != nil {
		return nil, err
	}
	if err := s.change(changes, f.Namespace); err != nil {
		return nil, err
	}
	return s, s.settle()
}

// change makes the Changes.
func (s *simulation) change(c Changes, namespace string) error {
	s.priority = c.Priority
	for _, add := range c.Add {
		if err := s.addNodes(add); err != nil {
			return err
		}
	}
	for _, ref := range c.Delete {
		if err := s.delete(ref, namespace); err != nil {
			return err
		}
	}
	for _, taint := range c.Taint {
		if err := s.taintDevice(taint); err != nil {
			return err
		}
	}
	for _, node := range c.Drain {
		if err := s.drain(node); err != nil {
			return err
		}
	}
	s.applying = true
	defer func() { s.applying = false }()
	for i := range c.Apply {
		if err := s.apply(&c.Apply[i]); err != nil {
			return fmt.Errorf("%s: %w", c.Apply[i].Source, err)
		}
	}
	return nil
}

// apply creates or changes an object.
func (s *simulation) apply(m *Manifest) error {
	old, exists := s.world.Find(m.Object)
	if !exists {
		object, _ := m.Object.DeepCopyObject().(client.Object)
		s.record(Create, object)
		return s.create(object)
	}
	merged, err := s.server.Merge(old, m.Patch, s.world)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(old, merged) {
		return nil
	}
	s.rememberTemplate(old, merged)
	s.applied[merged.GetUID()] = true
	s.put(merged)
	s.record(Update, m.Object)
	return nil
}

// record records a change of an object that the Changes name.
func (s *simulation) record(action Action, object client.Object) {
	s.objects = append(s.objects,
		ObjectChange{Action: action, Kind: kindName(object), Namespace: object.GetNamespace(), Name: object.GetName()})
}

// kindName returns the name of an object's kind, which is that of its Go type.
func kindName(object client.Object) string {
	name := fmt.Sprintf("%T", object)
	return name[strings.LastIndex(name, ".")+1:]
}

// rememberTemplate remembers the template of pods that are updated to another one.
func (s *simulation) rememberTemplate(old, now client.Object) {
	var from, to *core.PodTemplateSpec
	switch o := old.(type) {
	case *apps.StatefulSet:
		from, to = &o.Spec.Template, &now.(*apps.StatefulSet).Spec.Template
	case *apps.DaemonSet:
		from, to = &o.Spec.Template, &now.(*apps.DaemonSet).Spec.Template
	default:
		return
	}
	if !equality.Semantic.DeepEqual(from, to) {
		s.oldTemplates[old.GetUID()] = from
	}
}

// plan compares the World with the Snapshot.
func (f *Forecaster) plan(s *simulation) (*Plan, error) {
	d := &difference{simulation: s, oldPods: map[string]*core.Pod{}}
	for _, pod := range f.snap.Objects.Pods {
		d.oldPods[string(pod.UID)] = pod
	}
	p := d.plan()
	p.Recomputed = s.foreign
	for _, unknown := range f.snap.Unknown {
		p.Unknown = append(p.Unknown, unknown.String())
	}
	return p, d.addWaits(p, s.world.Snapshot(f.snap))
}

// explainer returns an Explainer of the state that is reached.
func (s *simulation) explainer(snap *snapshot.Snapshot) (*explain.Explainer, error) {
	e, err := explain.New(snap)
	if err != nil {
		return nil, err
	}
	e.Use(schedulerName, s.world.State, s.placer)
	return e, nil
}
