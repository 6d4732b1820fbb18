package forecast

import (
	corev1 "k8s.io/api/core/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
)

// podSpec returns the spec of the pods that an object is or creates, or nil.
func podSpec(object client.Object) *core.PodSpec {
	switch o := object.(type) {
	case *core.Pod:
		return &o.Spec
	case *batch.Job:
		return &o.Spec.Template.Spec
	case *apps.Deployment:
		return &o.Spec.Template.Spec
	case *apps.ReplicaSet:
		return &o.Spec.Template.Spec
	case *apps.StatefulSet:
		return &o.Spec.Template.Spec
	case *apps.DaemonSet:
		return &o.Spec.Template.Spec
	}
	return nil
}

// isCopied reports whether each copy of manifests has an object of this kind of its own.
func isCopied(object client.Object) bool {
	switch object.(type) {
	case *scheduling.PodGroup, *v1alpha3.CompositePodGroup, *resource.ResourceClaim:
		return true
	}
	return podSpec(object) != nil
}

func newCopier(manifests []Manifest) *copier {
	c := &copier{manifests: manifests, groups: map[string]bool{}, composites: map[string]bool{}, claims: map[string]bool{}}
	for i := range manifests {
		switch o := manifests[i].Object.(type) {
		case *scheduling.PodGroup:
			c.groups[o.Name] = true
		case *v1alpha3.CompositePodGroup:
			c.composites[o.Name] = true
		case *resource.ResourceClaim:
			c.claims[o.Name] = true
		}
	}
	return c
}

// rename appends a suffix to the name of an object, and to the names of other copied objects in it.
func (c *copier) rename(object client.Object, suffix string) {
	if object.GetName() != "" {
		object.SetName(object.GetName() + suffix)
	}
	switch o := object.(type) {
	case *v1alpha3.CompositePodGroup:
		o.Spec.ParentCompositePodGroupName = renamed(c.composites, o.Spec.ParentCompositePodGroupName, suffix)
	case *scheduling.PodGroup:
		o.Spec.ParentCompositePodGroupName = renamed(c.composites, o.Spec.ParentCompositePodGroupName, suffix)
		for i := range o.Spec.ResourceClaims {
			o.Spec.ResourceClaims[i].ResourceClaimName = renamed(c.claims, o.Spec.ResourceClaims[i].ResourceClaimName, suffix)
		}
	case *batch.Job:
		if o.Spec.Scheduling == nil {
			break
		}
		for i := range o.Spec.Scheduling.ResourceClaims {
			claim := &o.Spec.Scheduling.ResourceClaims[i]
			claim.ResourceClaimName = renamed(c.claims, claim.ResourceClaimName, suffix)
		}
	}
	spec := podSpec(object)
	if spec == nil {
		return
	}
	for i := range spec.ResourceClaims {
		spec.ResourceClaims[i].ResourceClaimName = renamed(c.claims, spec.ResourceClaims[i].ResourceClaimName, suffix)
	}
	if g := spec.SchedulingGroup; g != nil {
		spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: renamed(c.groups, g.PodGroupName, suffix)}
	}
}

// renamed returns the name with the suffix if it is that of a copied object.
func renamed(copied map[string]bool, name *string, suffix string) *string {
	if name == nil || !copied[*name] {
		return name
	}
	with := *name + suffix
	return &with
}
