package explain

import (
	"fmt"
	"math"
	"strconv"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/score"
)

// placedPod explains a pod that has a node: its devices, the claims that share them, and their
// history.
func (e *Explainer) placedPod(r *Report, pod *core.Pod) error {
	v, err := e.view(pod.Spec.SchedulerName)
	if err != nil {
		return err
	}
	a := &attempt{Explainer: e, view: v}
	for _, resolution := range claims.Resolve(pod, e.groupOf(pod)) {
		claim := e.claims[model.Key{Namespace: pod.Namespace, Name: resolution.Claim}]
		if claim == nil || claim.Status.Allocation == nil {
			continue
		}
		if at := allocatedAt(claim); !at.IsZero() {
			r.moment(at, fmt.Sprintf("claim %s got %s", claim.Name, holdsText(claim)))
		}
		for i := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[i]
			d := a.deviceAnswer(model.DeviceIDOf(*result))
			d.Request, d.Attributes = resolution.Entry+", "+result.Request, nil
			r.Devices = append(r.Devices, d)
		}
	}
	r.moment(pod.CreationTimestamp, "the pod was created")
	if started := pod.Status.StartTime; started != nil {
		r.moment(*started, "it was started on "+pod.Spec.NodeName)
	}
	e.eventsAbout(r, "Pod", model.KeyOf(pod))
	r.sortHistory()
	e.placementOf(r, pod)
	return nil
}

// placementOf adds why a pod is on its node: what ties it there, and the nodes that would be best
// for it now.
func (e *Explainer) placementOf(r *Report, pod *core.Pod) {
	for _, resolution := range claims.Resolve(pod, e.groupOf(pod)) {
		claim := e.claims[model.Key{Namespace: pod.Namespace, Name: resolution.Claim}]
		if claim == nil || claim.Status.Allocation == nil || claim.Status.Allocation.NodeSelector == nil {
			continue
		}
		allocation := &model.Allocation{NodeSelector: claim.Status.Allocation.NodeSelector}
		r.fact("Tied by claim", claim.Name+", usable from "+scopeText(&model.Claim{Allocation: allocation}))
	}
	v, err := e.view(pod.Spec.SchedulerName)
	if err != nil {
		return
	}
	known, ok := v.state.Pods.Get(model.KeyOf(pod))
	if !ok || known.Node == "" {
		return
	}
	if group, ok := v.state.Groups.Get(known.GroupKey()); ok && known.Group != "" && group.Topology != "" {
		if info, ok := v.state.Nodes.Get(known.Node); ok && info.Node != nil {
			r.fact(
				"Topology",
				fmt.Sprintf("the pods of the group must be in one domain of %s: %s", group.Topology,
					info.Node.Labels[group.Topology]),
			)
		}
		return
	}
	if candidates := v.candidates(known); len(candidates) > 0 {
		r.Placement = append(r.Placement, Placement{Pod: pod.Name, Node: known.Node, Candidates: candidates})
	}
}

const (
	maxRanked     = 100 // nodes among which the pod's own is looked for
	maxCandidates = 3   // number of candidates in a Report, and the node of the pod in addition
)

// candidates returns the nodes that would be best for a pod if it were placed now, as if it and its
// own claims had no node and no devices.
func (v *view) candidates(pod *model.Pod) []Candidate {
	tx := v.state.Begin()
	defer tx.Undo()
	waiting := *pod
	waiting.Node, waiting.Draws = "", nil
	v.state.Pods.Delete(pod.Key)
	for name := range pod.ClaimNames {
		v.state.Claims.RemoveConsumers(model.Key{Namespace: pod.Key.Namespace, Name: name},
			func(c model.Consumer) bool { return c.UID == pod.UID })
	}
	v.state.Pods.Put(&waiting)
	unit := &model.Unit{
		Key:      pod.UnitKey(),
		Pods:     []*model.Pod{&waiting},
		Min:      1,
		Priority: pod.Priority,
		Created:  pod.Created,
	}
	if group, ok := v.state.Groups.Get(pod.GroupKey()); ok && pod.Group != "" {
		unit.Group, unit.Min = group, max(1, group.MinCount)
	}
	var list []Candidate
	for i, node := range v.placer.RankIn(tx, unit, maxRanked) {
		if i >= maxCandidates && node.Node != pod.Node {
			continue
		}
		c := Candidate{Node: node.Node, Rank: i + 1, Chosen: node.Node == pod.Node}
		for _, s := range node.Scores {
			c.Scores = append(c.Scores, Score{Preference: s.Preference, Value: scoreText(s)})
		}
		list = append(list, c)
	}
	return list
}

func scoreText(s score.PreferenceScore) string {
	if s.Most > 0 {
		return fmt.Sprintf("%.0f of %.0f", s.Value, s.Most)
	}
	return strconv.FormatFloat(math.Round(s.Value*1000)/1000, 'g', -1, 64)
}
