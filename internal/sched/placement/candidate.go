package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// podCandidate is a pod that is to be placed.
type podCandidate struct {
	pod   *model.Pod
	group *model.Group // nil for a pod without a group
	uses  []claimUse
	own   []*model.Claim // claims that are not allocated and that no other pod of the unit uses

	offered      []offeredResource // resources that the pod requests
	createdClaim *model.Claim      // created for the pod by an earlier plan, with devices
	mounts       nodefit.Mounts
	class        *podClass
}

// claimUse is the use of one claim by a pod.
type claimUse struct {
	claim model.Key
	group bool // the PodGroup is the consumer
	// containers of the pod that use the claim, one for each reference
	containers []string
}

// addUse adds the claim of an entry. Another entry may already name the claim.
func (c *podCandidate) addUse(key model.Key, entry *model.PodClaim) {
	for i := range c.uses {
		if c.uses[i].claim == key {
			c.uses[i].containers = append(c.uses[i].containers, entry.Containers...)
			return
		}
	}
	c.uses = append(c.uses, claimUse{
		claim: key, group: entry.Group, containers: slices.Clone(entry.Containers),
	})
}

// owns reports whether the claim is one of the pod's own claims.
func (c *podCandidate) owns(key model.Key) bool {
	return slices.ContainsFunc(c.own, func(claim *model.Claim) bool { return claim.Key == key })
}

// hasAlone reports whether the claim was generated for the pod or its PodGroup, so that no other
// group uses it.
func (c *podCandidate) hasAlone(claim *model.Claim) bool {
	return claim.Controller == c.pod.UID || c.group != nil && claim.Controller == c.group.UID
}

// extendedKey returns the key of the claim that the pod has, or would get, for extended resources.
func (c *podCandidate) extendedKey() model.Key {
	return model.Key{Namespace: c.pod.Key.Namespace, Name: c.pod.Extended}
}

// needsNewClaim reports whether a claim must be created for the pod where its class has this form.
func (c *podCandidate) needsNewClaim(f *claimForm) bool {
	return len(f.requests) > 0 && c.createdClaim == nil
}

// newClaim returns the claim that is created for the pod.
func (c *podCandidate) newClaim(f *claimForm) *model.Claim {
	return &model.Claim{Key: c.extendedKey(), Controller: c.pod.UID, Requests: f.requests}
}

// claims returns the pod's claims that need devices, in the order of the form's problem.
func (c *podCandidate) claims(f *claimForm) []*model.Claim {
	if !c.needsNewClaim(f) {
		return c.own
	}
	return append(slices.Clip(c.own), c.newClaim(f))
}

// extendedStatus returns the pod's status for its claim for extended resources, or nil.
func (c *podCandidate) extendedStatus(f *claimForm) *corev1.PodExtendedResourceClaimStatus {
	if len(f.requests) == 0 {
		return nil
	}
	return &corev1.PodExtendedResourceClaimStatus{
		ResourceClaimName: c.pod.Extended, RequestMappings: f.mappings,
	}
}

func keysOf(members []*podCandidate) []model.Key {
	keys := make([]model.Key, len(members))
	for i, m := range members {
		keys[i] = m.pod.Key
	}
	return keys
}
