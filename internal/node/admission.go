package node

import (
	"errors"
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
	// generated: the claim must have been made for the pod or its PodGroup, since the entry has a template, or for the pod by
	// its scheduler.
	generated bool
}

// errNoClaim says that a claim is not there.
var errNoClaim = errors.New("it does not exist")

// errUnread says that a claim could not be read: no event will tell when it can be.
var errUnread = errors.New("it cannot be read")

// usedClaims lists the pod's claims by what stands in the pod alone: on a node, no PodGroup and no template is looked up
// (R12). Entries that need no claim are left out.
func usedClaims(pod *core.Pod) []usedClaim {
	var out []usedClaim
	for i := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[i]
		u := usedClaim{entry: entry.Name, generated: entry.ResourceClaimTemplateName != nil || entry.ClusterResourceClaimTemplateName != nil}
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
		out = append(out, usedClaim{entry: "extended resources", name: extended.ResourceClaimName, generated: true})
	}
	return out
}

// admit gives the claims of the pod, or says why it must not run yet. Lookup finds a claim of the pod's namespace.
func admit(on features.Set, pod *core.Pod, lookup func(usedClaim) (*resource.ResourceClaim, error)) ([]*resource.ResourceClaim, error) {
	var used []*resource.ResourceClaim
	for _, u := range usedClaims(pod) {
		if u.name == "" {
			return nil, &claims.Problem{Reason: claims.NotGenerated, Entry: u.entry}
		}
		claim, err := lookup(u)
		if errors.Is(err, errNoClaim) {
			return nil, fmt.Errorf("claim %q: ResourceClaim %q does not exist", u.entry, u.name)
		}
		if err != nil {
			return nil, fmt.Errorf("claim %q: ResourceClaim %q: %w", u.entry, u.name, err)
		}
		if u.generated && !claims.MadeFor(pod, claim) {
			return nil, &claims.Problem{Reason: claims.ForeignOwner, Entry: u.entry, Object: u.name}
		}
		if problem := claims.CanRunWith(on, pod, claim); problem != nil {
			problem.Entry = u.entry
			return nil, problem
		}
		used = append(used, claim)
	}
	return used, nil
}
