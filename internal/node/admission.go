package node

import (
	"errors"
	"fmt"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/features"
)

// usedClaim is the claim of one entry of pod.spec.resourceClaims.
type usedClaim struct {
	entry string
	name  string // empty if it is not recorded yet
	// generated means that the claim must have been created for the pod or its PodGroup, because
	// the entry has a template, or for the pod by its scheduler.
	generated bool
}

// errNoClaim means that a claim does not exist.
var errNoClaim = errors.New("it does not exist")

// errUnread means that a claim could not be read. No event announces when it can be.
var errUnread = errors.New("it cannot be read")

// usedClaims returns the claims of a pod, based on the pod alone: a node does not read PodGroups
// and templates (R12). Entries without a claim are omitted.
func usedClaims(pod *core.Pod) []usedClaim {
	var out []usedClaim
	for i := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[i]
		u := usedClaim{
			entry:     entry.Name,
			generated: entry.ResourceClaimTemplateName != nil || entry.ClusterResourceClaimTemplateName != nil,
		}
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

// admit returns the claims of the pod, or an error if it must not run yet. lookup returns a claim
// in the namespace of the pod.
func admit(
	on features.Set, pod *core.Pod, lookup func(usedClaim) (*resource.ResourceClaim, error),
) ([]*resource.ResourceClaim, error) {
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
