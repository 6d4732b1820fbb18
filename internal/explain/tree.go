package explain

import (
	"fmt"
	"strings"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/model"
)

// GroupAnswer is one group of a tree of groups: the subject, and those below it.
type GroupAnswer struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Level int    `json:"level"` // 0 is the subject
	// Policy describes how many child groups or pods are scheduled together, in which domain.
	Policy string `json:"policy"`
	// State lists the pods of the group with their nodes, or its child groups.
	State string `json:"state"`
	// Problem is the reason why no pod of the group can be scheduled on any node.
	Problem string `json:"problem,omitempty"`
}

// CompositePodGroup explains why a tree of groups waits, or where its pods are.
func (e *Explainer) CompositePodGroup(key model.Key) (*Report, error) {
	group, ok := e.composites[key]
	if !ok {
		return nil, notFound("CompositePodGroup", key, e.snap.Objects.Composites)
	}
	r := e.report("CompositePodGroup", key)
	schedulerName := e.schedulerBelow(key)
	v, err := e.view(schedulerName)
	if err != nil {
		return nil, err
	}
	tree := v.state.Tree(key)
	var members []*core.Pod
	for leaf := range tree.Leaves {
		members = append(members, e.members[leaf.Key()]...)
	}
	if len(members) > 0 {
		e.scheduler(r, schedulerName)
	}
	e.treeFacts(r, group, tree, members)
	e.addGroups(r, tree, 0)
	if !tree.CanBePlaced() && !tree.IsPlaced() {
		r.State, r.Summary = Waiting, strings.Join(tree.Problems(), "; ")
		r.help("The groups and pods that are missing are created by a controller. Look whether it runs, and at its events.",
			kubectl("get", "compositepodgroups,podgroups,pods", model.Key{Namespace: key.Namespace}))
		return r, nil
	}
	return r, e.podsState(r, members, model.UnitKey{Tree: true, Key: key})
}

// schedulerBelow returns the scheduler of the pods of a tree.
func (e *Explainer) schedulerBelow(key model.Key) string {
	for _, group := range e.snap.Objects.PodGroups {
		if members := e.members[model.KeyOf(group)]; len(members) > 0 && e.isBelow(model.KeyOf(group), key) {
			return members[0].Spec.SchedulerName
		}
	}
	return DefaultScheduler
}

// isBelow reports whether a PodGroup is below a CompositePodGroup.
func (e *Explainer) isBelow(group, tree model.Key) bool {
	parent := e.groups[group].Spec.ParentCompositePodGroupName
	for range model.MaxTreeDepth {
		if parent == nil {
			return false
		}
		above := model.Key{Namespace: group.Namespace, Name: *parent}
		if above == tree {
			return true
		}
		composite, ok := e.composites[above]
		if !ok {
			return false
		}
		parent = composite.Spec.ParentCompositePodGroupName
	}
	return false
}

// trees returns the CompositePodGroups of a namespace, or nil if the feature is off.
func (e *Explainer) trees(namespace string) claims.Trees {
	if len(e.composites) == 0 && !e.features.On(features.CompositePodGroup) {
		return nil
	}
	return func(name string) (*v1alpha3.CompositePodGroup, bool) {
		tree, ok := e.composites[model.Key{Namespace: namespace, Name: name}]
		return tree, ok
	}
}

func (e *Explainer) treeFacts(
	r *Report,
	group *v1alpha3.CompositePodGroup,
	tree *model.Tree,
	members []*core.Pod,
) {
	r.fact("Created", e.ago(group.CreationTimestamp))
	r.fact("Policy", policyText(tree))
	if parent := group.Spec.ParentCompositePodGroupName; parent != nil {
		r.fact("Part of", "CompositePodGroup "+*parent)
	}
	if group.Spec.Priority != nil {
		r.fact("Priority", fmt.Sprint(*group.Spec.Priority))
	}
	if mode := group.Spec.DisruptionMode; mode != nil && mode.All != nil {
		r.fact("Preempted", "as a whole, or not at all")
	}
	e.claimFacts(r, group.Namespace, group.Status.ResourceClaimStatuses)
	r.fact("Controlled by", strings.TrimPrefix(e.owner(members), ", of "))
	r.fact("Pods", podCounts(members))
}

// policyText says what is scheduled together, and in which domain.
func policyText(t *model.Tree) string {
	noun := "group"
	gang := t.Group != nil && t.Group.Gang
	if t.Group != nil {
		noun = "pod"
	} else {
		gang = t.Composite.Gang
	}
	text := "basic"
	if gang {
		text = "gang of " + count(t.Min(), noun)
	}
	if label := t.Topology(); label != "" {
		text += ", in one domain of " + label
	}
	return text
}

// addGroups adds a group and those below it.
func (e *Explainer) addGroups(r *Report, t *model.Tree, level int) {
	answer := GroupAnswer{Kind: "PodGroup", Name: t.Key().Name, Level: level, Policy: policyText(t), Problem: t.Problem}
	if t.Group != nil {
		members := e.members[t.Key()]
		answer.State = podCounts(members)
		if nodes := nodesText(onNodes(members)); nodes != "" {
			answer.State += ", on " + nodes
		}
		r.Groups = append(r.Groups, answer)
		return
	}
	answer.Kind = "CompositePodGroup"
	placed := 0
	for _, child := range t.Children {
		if child.IsPlaced() {
			placed++
		}
	}
	answer.State = fmt.Sprintf("%d of %s scheduled", placed, count(len(t.Children), "group"))
	r.Groups = append(r.Groups, answer)
	for _, child := range t.Children {
		e.addGroups(r, child, level+1)
	}
}

func onNodes(pods []*core.Pod) []*core.Pod {
	var on []*core.Pod
	for _, pod := range pods {
		if phase := podPhase(pod); phase == "running" || phase == "starting" {
			on = append(on, pod)
		}
	}
	return on
}
