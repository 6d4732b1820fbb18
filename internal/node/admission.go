package node

import (
	"fmt"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/features"
)

// usedClaim is what one entry of pod.spec.resourceClaims stands for on the node.
type usedClaim struct {
	entry string
	name  string // empty: not recorded yet
}

// usedClaims lists the pod's claims by what stands in the pod alone: on a node, no PodGroup and no template is looked up
// (R12). Entries that need no claim are left out.
func usedClaims(pod *core.Pod) []usedClaim {
	var out []usedClaim
	for i := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[i]
		u := usedClaim{entry: entry.Name}
		if entry.ResourceClaimName != nil {
			u.name = *entry.ResourceClaimName
		}
		needed := true
		for _, st := range pod.Status.ResourceClaimStatuses {
			switch {
			case st.Name != entry.Name:
			case st.ResourceClaimName == nil:
				needed = false
			default:
				u.name = *st.ResourceClaimName
			}
		}
		if needed {
			out = append(out, u)
		}
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		out = append(out, usedClaim{entry: "extended resources", name: extended.ResourceClaimName})
	}
	return out
}

// admit says why the pod must not run yet, or nil. Lookup finds a claim of the pod's namespace.
func admit(on features.Set, pod *core.Pod, lookup func(name string) (*resource.ResourceClaim, bool)) error {
	for _, u := range usedClaims(pod) {
		if u.name == "" {
			return &claims.Problem{Reason: claims.NotGenerated, Entry: u.entry}
		}
		claim, ok := lookup(u.name)
		if !ok {
			return fmt.Errorf("claim %q: ResourceClaim %q does not exist", u.entry, u.name)
		}
		if problem := claims.CanRunWith(on, pod, claim); problem != nil {
			problem.Entry = u.entry
			return problem
		}
	}
	return nil
}
