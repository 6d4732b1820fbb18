package forecast

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
)

// MaxCopies limits the copies that Capacity counts.
const MaxCopies = 10_000

// Capacity returns how many copies of the manifests fit in addition to what waits already, without
// preempting anything, after the other changes. What gets pods, and the ResourceClaims, are copied,
// under names that end with a number; all copies use the other objects.
func (f *Forecaster) Capacity(changes Changes) (*Plan, error) {
	once, copied := split(changes.Apply)
	changes.Apply = once
	if !slices.ContainsFunc(copied, func(m Manifest) bool { return podSpec(m.Object) != nil }) {
		return nil, errors.New("the manifests have nothing that gets pods")
	}
	s, err := f.simulate(changes)
	if err != nil {
		return nil, err
	}
	s.noPreemption = true
	capacity := &Capacity{}
	p := &Plan{
		TypeMeta:   metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
		Capacity:   capacity,
		Notes:      s.notes,
		Recomputed: s.foreign,
	}
	for _, unknown := range f.snap.Unknown {
		p.Unknown = append(p.Unknown, unknown.String())
	}
	c := newCopier(copied)
	for capacity.Copies < MaxCopies {
		refused := maps.Clone(s.problems)
		s.newPods = nil
		if err := c.add(s, capacity.Copies+1); err != nil {
			return nil, err
		}
		waits := s.waitingPods()
		capacity.Pods = max(capacity.Pods, len(s.newPods))
		if len(waits) == 0 && maps.Equal(refused, s.problems) {
			capacity.Copies++
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(s.problems)) {
			if s.problems[name] != refused[name] {
				p.Problems = append(p.Problems, s.problems[name])
			}
		}
		return p, f.addRunsOut(s, capacity, waits)
	}
	capacity.AtLeast = true
	return p, nil
}

// waitingPods returns the new pods that have no node.
func (s *simulation) waitingPods() []*core.Pod {
	var list []*core.Pod
	for _, key := range s.newPods {
		if pod, ok := s.world.Pods.Get(key.Namespace, key.Name); ok && pod.Spec.NodeName == "" {
			list = append(list, pod)
		}
	}
	return list
}

// addRunsOut adds why the last copy does not fit.
func (f *Forecaster) addRunsOut(s *simulation, capacity *Capacity, waits []*core.Pod) error {
	if len(waits) == 0 {
		return nil
	}
	e, err := s.explainer(s.world.Snapshot(f.snap))
	if err != nil {
		return err
	}
	w := &Waiting{Subject: unitText(unitOf(waits[0])), first: model.KeyOf(waits[0])}
	for _, pod := range waits {
		w.Pods = append(w.Pods, pod.Name)
	}
	capacity.RunsOut = w
	return w.explain(e)
}

// split separates the objects that all copies use from those that are copied.
func split(manifests []Manifest) (once, copied []Manifest) {
	for i := range manifests {
		if isCopied(manifests[i].Object) {
			copied = append(copied, manifests[i])
		} else {
			once = append(once, manifests[i])
		}
	}
	return once, copied
}

// copier makes copies of manifests that name each other.
type copier struct {
	manifests []Manifest
	groups    map[string]bool // names of the PodGroups among them
	// composites are the names of the CompositePodGroups among them.
	composites map[string]bool
	claims     map[string]bool // names of the ResourceClaims among them
}

// add creates a copy of the manifests and has it settle.
func (c *copier) add(s *simulation, n int) error {
	for i := range c.manifests {
		object, _ := c.manifests[i].Object.DeepCopyObject().(client.Object)
		c.rename(object, "-"+strconv.Itoa(n))
		if err := s.create(object); err != nil {
			return fmt.Errorf("%s: %w", c.manifests[i].Source, err)
		}
	}
	return s.settle()
}
