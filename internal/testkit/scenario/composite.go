package scenario

import (
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"

	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// composite handles composite NAME [parent=NAME] [gang=N] [topology=KEY] [whole] [priority=N]
// [claim=ENTRY:TEMPLATE]…: it puts a CompositePodGroup, with the claims that are generated for it.
// Groups and other composites name it with parent=NAME, and groups its claims with
// tree=ENTRY:NAME-ENTRY.
func (s *Scenario) composite(l *line.Line) error {
	group := &v1alpha3.CompositePodGroup{ObjectMeta: s.meta("composite", l.Name())}
	if parent := l.Text("parent", ""); parent != "" {
		group.Spec.ParentCompositePodGroupName = &parent
	}
	group.Spec.SchedulingPolicy.Basic = &schedulingv1alpha3.CompositeBasicSchedulingPolicy{}
	if l.Has("gang") {
		count := l.Number("gang", 1)
		group.Spec.SchedulingPolicy.Basic = nil
		group.Spec.SchedulingPolicy.Gang = &schedulingv1alpha3.CompositeGangSchedulingPolicy{MinGroupCount: int32(count)}
	}
	if key := l.Text("topology", ""); key != "" {
		group.Spec.SchedulingConstraints = &schedulingv1alpha3.CompositePodGroupSchedulingConstraints{
			Topology: []schedulingv1alpha3.TopologyConstraint{{Key: key}},
		}
	}
	if l.Has("whole") {
		group.Spec.DisruptionMode = &schedulingv1alpha3.CompositeDisruptionMode{
			All: &schedulingv1alpha3.AllCompositeDisruptionMode{},
		}
	}
	if l.Has("priority") {
		priority := l.Number("priority", 0)
		group.Spec.Priority = ptr(int32(priority))
	}
	s.queue.Wake(s.state.Groups.Composites.Put(model.CompositeFrom(group)))
	for _, text := range l.All("claim") {
		if err := s.generate(text, "CompositePodGroup", group.ObjectMeta); err != nil {
			return err
		}
	}
	for _, below := range s.state.UnitsBelow(key(l.Name())) {
		s.enqueue(below)
	}
	return nil
}
