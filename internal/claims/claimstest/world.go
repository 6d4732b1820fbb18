package claimstest

import (
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// World holds the objects of a scenario in the order in which they were written.
type World struct {
	Pods             []*core.Pod
	Groups           []*scheduling.PodGroup
	Trees            []*v1alpha3.CompositePodGroup
	Claims           []*resource.ResourceClaim
	Templates        []*resource.ResourceClaimTemplate
	ClusterTemplates []*resourcev1alpha3.ClusterResourceClaimTemplate
}

// Parse returns a World with the objects of a text, one a line.
func Parse(text string) (*World, error) {
	w := &World{}
	return w, line.Run(text, map[string]func(*line.Line) error{
		"pod":      add(&w.Pods, object.pod),
		"group":    add(&w.Groups, object.group),
		"tree":     add(&w.Trees, object.tree),
		"claim":    add(&w.Claims, object.claim),
		"template": add(&w.Templates, object.template),

		"clustertemplate": add(&w.ClusterTemplates, object.clusterTemplate),
	})
}

// add returns the handler of a kind, which adds the object of a line to the list.
func add[T any](list *[]T, from func(object) T) func(*line.Line) error {
	return func(l *line.Line) error {
		*list = append(*list, from(object{l}))
		return nil
	}
}

// Merge adds the objects of other, replacing those of the same name.
func (w *World) Merge(other *World) {
	w.Pods = merge(w.Pods, other.Pods)
	w.Groups = merge(w.Groups, other.Groups)
	w.Trees = merge(w.Trees, other.Trees)
	w.Claims = merge(w.Claims, other.Claims)
	w.Templates = merge(w.Templates, other.Templates)
	w.ClusterTemplates = merge(w.ClusterTemplates, other.ClusterTemplates)
}

// Pod returns the pod with this name.
func (w *World) Pod(name string) (*core.Pod, bool) { return find(w.Pods, name) }

// Group returns the PodGroup with this name.
func (w *World) Group(name string) (*scheduling.PodGroup, bool) { return find(w.Groups, name) }

// Tree returns the CompositePodGroup with this name.
func (w *World) Tree(name string) (*v1alpha3.CompositePodGroup, bool) { return find(w.Trees, name) }

// Claim returns the ResourceClaim with this name.
func (w *World) Claim(name string) (*resource.ResourceClaim, bool) { return find(w.Claims, name) }

// GroupOf returns the PodGroup that the pod names, or nil if it does not exist.
func (w *World) GroupOf(pod *core.Pod) *scheduling.PodGroup {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		group, _ := w.Group(*g.PodGroupName)
		return group
	}
	return nil
}

type namedObject interface {
	GetName() string
	GetNamespace() string
}

func merge[T namedObject](list, news []T) []T {
	for _, n := range news {
		replaced := false
		for i := range list {
			if list[i].GetName() == n.GetName() && list[i].GetNamespace() == n.GetNamespace() {
				list[i], replaced = n, true
			}
		}
		if !replaced {
			list = append(list, n)
		}
	}
	return list
}

func find[T namedObject](list []T, name string) (found T, ok bool) {
	for _, o := range list {
		if o.GetName() == name {
			return o, true
		}
	}
	return found, false
}
