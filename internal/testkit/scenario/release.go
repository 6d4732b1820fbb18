package scenario

import (
	"cmp"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/model"
)

// release updates claims as the claim controller does after a consumer or owner was deleted.
func (s *Scenario) release(uid string) {
	for _, k := range s.claimKeys() {
		claim := s.claims[k]
		isConsumer := func(c resourcev1.ResourceClaimConsumerReference) bool { return string(c.UID) == uid }
		if slices.ContainsFunc(claim.Status.ReservedFor, isConsumer) {
			claim = claim.DeepCopy()
			claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, isConsumer)
			if len(claim.Status.ReservedFor) == 0 {
				claim.Status.Allocation = nil
			}
			s.putClaim(claim)
		}
		owner := metav1.GetControllerOf(claim)
		if owner != nil && string(owner.UID) == uid && claim.Status.Allocation == nil {
			s.queue.Wake(s.state.Claims.Delete(k))
			delete(s.claims, k)
			delete(s.uids, "claim/"+k.Name)
		}
	}
}

func (s *Scenario) claimKeys() []model.Key {
	return slices.SortedFunc(maps.Keys(s.claims), func(a, b model.Key) int { return cmp.Compare(a.Name, b.Name) })
}

func podNames(pods map[model.Key]*model.Pod) []string {
	var names []string
	for k := range pods {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return names
}
