package cluster

import (
	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
)

// expectations are the claims that pods wait for and that plans may create, by pod. They belong to
// the goroutine that applies the changes.
type expectations map[model.Key][]*model.Claim

// expect updates the claims that are expected for a pod: its own claims that the API does not show.
func (f *Feed) expect(s *model.State, pod *core.Pod, group *scheduling.PodGroup) []model.Topic {
	if f.expected == nil || pod.Spec.SchedulerName != f.schedulerName {
		return nil
	}
	key := model.KeyOf(pod)
	before := f.expected[key]
	delete(f.expected, key)
	var topics []model.Topic
	now := map[model.Key]bool{}
	for _, generated := range claims.Expected(pod, group, f.templates.get(pod.Namespace)) {
		if _, exists := f.claims.Get(generated.Namespace, generated.Name); exists {
			continue
		}
		claim := f.Seen(generated)
		claim.Generated = generated
		now[claim.Key] = true
		f.expected[key] = append(f.expected[key], claim)
		topics = append(topics, s.Claims.Expect(claim)...)
	}
	for _, claim := range before {
		if !now[claim.Key] {
			topics = append(topics, s.Claims.Unexpect(claim.Key, claim.Controller)...)
		}
	}
	return topics
}

// expectNone removes the expectations of a pod that was deleted.
func (f *Feed) expectNone(s *model.State, pod model.Key) []model.Topic {
	var topics []model.Topic
	for _, claim := range f.expected[pod] {
		topics = append(topics, s.Claims.Unexpect(claim.Key, claim.Controller)...)
	}
	delete(f.expected, pod)
	return topics
}
