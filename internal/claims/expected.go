package claims

import (
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Expected returns the claims that will be generated for a pod that is not scheduled, under the names
// that its status has since it was created (KnownClaims): those of its own ResourceClaimTemplates.
// The scheduler may create them together with their allocations. group is the PodGroup that the pod
// names, or nil.
func Expected(
	pod *core.Pod, group *scheduling.PodGroup, template func(Source) (Template, bool),
) []*resource.ResourceClaim {
	if pod.Spec.NodeName != "" || len(pod.Spec.ResourceClaims) == 0 {
		return nil
	}
	owner := PodOwner(pod, group)
	var out []*resource.ResourceClaim
	for _, entry := range owner.Entries {
		name, ok := recorded(owner.Records, entry.Name)
		if entry.Source.Kind != NamespacedTemplate || !ok || name == nil || *name != generatedName(owner, entry.Name, 0) {
			continue
		}
		if t, ok := template(entry.Source); ok {
			out = append(out, generate(owner, entry.Name, t, 0))
		}
	}
	return out
}

// OnlyExpects reports whether the scheduler can create all claims that the pod lacks: each has a name
// in the status, or is not generated for the pod.
func OnlyExpects(pod *core.Pod, group *scheduling.PodGroup) bool {
	owner := PodOwner(pod, group)
	for _, entry := range owner.Entries {
		if !entry.Source.Generated() {
			continue
		}
		name, ok := recorded(owner.Records, entry.Name)
		if entry.Source.Kind != NamespacedTemplate || !ok || name == nil || *name != generatedName(owner, entry.Name, 0) {
			return false
		}
	}
	return len(owner.Problems) == 0
}
