package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
)

// PodGroup explains why pods of a group wait, or where they are.
func (e *Explainer) PodGroup(key model.Key) (*Report, error) {
	group, ok := e.groups[key]
	if !ok {
		return nil, notFound("PodGroup", key, e.snap.Objects.PodGroups)
	}
	r := e.report("PodGroup", key)
	members := e.members[key]
	if len(members) > 0 {
		e.scheduler(r, members[0].Spec.SchedulerName)
	}
	e.groupFacts(r, group, members)
	return r, e.podsState(r, members, model.UnitKey{Group: true, Key: key})
}

// groupFacts adds what the group is, and its claims.
func (e *Explainer) groupFacts(r *Report, group *scheduling.PodGroup, members []*core.Pod) {
	r.fact("Created", e.ago(group.CreationTimestamp))
	switch gang := group.Spec.SchedulingPolicy.Gang; {
	case gang != nil:
		r.fact("Policy", fmt.Sprintf("gang: %d pods are scheduled together or none", gang.MinCount))
	default:
		r.fact("Policy", "basic: each pod is scheduled by itself")
	}
	if group.Spec.Priority != nil {
		r.fact("Priority", fmt.Sprint(*group.Spec.Priority))
	} else if len(members) > 0 {
		r.fact("Priority", priorityText(members[0]))
	}
	if parent := group.Spec.ParentCompositePodGroupName; parent != nil {
		r.fact("Part of", "CompositePodGroup "+*parent)
	}
	r.fact("Controlled by", strings.TrimPrefix(e.owner(members), ", of "))
	r.fact("Pods", podCounts(members))
	e.claimFacts(r, group.Namespace, group.Status.ResourceClaimStatuses)
}

// claimFacts adds the claims that the status of a PodGroup or CompositePodGroup names.
func (e *Explainer) claimFacts(r *Report, namespace string, list []schedulingv1beta1.PodGroupResourceClaimStatus) {
	for _, status := range list {
		if status.ResourceClaimName == nil {
			continue
		}
		if claim := e.claims[model.Key{Namespace: namespace, Name: *status.ResourceClaimName}]; claim != nil {
			r.fact("Claim", claimText(claim, false)+", "+holdsText(claim))
		}
	}
}

// podCounts counts pods by state.
func podCounts(pods []*core.Pod) string {
	counts := map[string]int{}
	for _, pod := range pods {
		counts[podPhase(pod)]++
	}
	var parts []string
	for _, phase := range []string{"running", "starting", "waiting", "gated", "terminating", "finished"} {
		if n := counts[phase]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, phase))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func podPhase(pod *core.Pod) string {
	switch {
	case pod.Finished():
		return "finished"
	case pod.DeletionTimestamp != nil:
		return "terminating"
	case pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodRunning:
		return "running"
	case pod.Spec.NodeName != "":
		return "starting"
	case len(pod.Spec.SchedulingGates) > 0:
		return "gated"
	}
	return "waiting"
}

// podsState explains the pods of a group or a controller: those that wait, and where the others
// are. unit is what they are scheduled as; without Group, each pod is scheduled by itself.
func (e *Explainer) podsState(r *Report, members []*core.Pod, unit model.UnitKey) error {
	placed, waiting, gated := byPhase(members)
	r.fact("On nodes", nodesText(placed))
	switch {
	case len(waiting) == 0 && len(gated) > 0:
		r.State = Waiting
		e.gated(r, gated[0])
		r.Summary = fmt.Sprintf("%s wait for their scheduling gates (%s)", count(len(gated), "pod"),
			gated[0].Spec.SchedulingGates[0].Name)
		return nil
	case len(waiting) == 0 && len(placed) == 0:
		return e.withoutPods(r, members, unit)
	case len(waiting) == 0:
		r.State, r.Summary = Placed, fmt.Sprintf("%s on nodes, and none waits", countOf(len(placed), "pod"))
		e.placementOf(r, placed[0])
		return nil
	}
	r.State = Waiting
	if len(placed) > 0 {
		r.State = Partly
	}
	return e.whyWaiting(r, waiting, unit)
}

// byPhase returns the pods that are on nodes, those that wait, and those with scheduling gates.
func byPhase(pods []*core.Pod) (placed, waiting, gated []*core.Pod) {
	for _, pod := range pods {
		switch podPhase(pod) {
		case "running", "starting":
			placed = append(placed, pod)
		case "waiting":
			waiting = append(waiting, pod)
		case "gated":
			gated = append(gated, pod)
		}
	}
	return placed, waiting, gated
}

// whyWaiting explains why pods of one group or controller wait, by the first of them if each is
// scheduled by itself.
func (e *Explainer) whyWaiting(r *Report, waiting []*core.Pod, unit model.UnitKey) error {
	if !unit.Group && !unit.Tree {
		unit = model.UnitKey{Key: model.KeyOf(waiting[0])}
		if name, ok := claims.GroupName(waiting[0]); ok {
			unit = model.UnitKey{Group: true, Key: model.Key{Namespace: waiting[0].Namespace, Name: name}}
		}
	}
	a, err := e.tryUnit(waiting[0].Spec.SchedulerName, unit)
	if err != nil {
		return err
	}
	a.explain(r, model.Key{})
	if !unit.Group && !unit.Tree && len(waiting) > 1 {
		r.Summary = fmt.Sprintf("%d pods wait, %s among them: %s", len(waiting), waiting[0].Name, r.Summary)
	}
	return nil
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return count(n, noun) + " are"
}

// withoutPods explains a group or controller of which no pod waits or runs.
func (e *Explainer) withoutPods(r *Report, members []*core.Pod, unit model.UnitKey) error {
	if len(members) > 0 {
		r.State, r.Summary = Finished, "no pod waits or runs: "+podCounts(members)
		return nil
	}
	r.State, r.Summary = Waiting, "it has no pods"
	if unit.Group {
		r.help(
			"Pods join the group by spec.schedulingGroup.podGroupName. Look whether their controller runs, and at its events.",
			kubectl("get", "pods", model.Key{Namespace: unit.Key.Namespace}),
		)
	}
	return nil
}

// nodesText lists nodes with how many of the pods they have.
func nodesText(pods []*core.Pod) string {
	counts := map[string]int{}
	var nodes []string
	for _, pod := range pods {
		if counts[pod.Spec.NodeName]++; counts[pod.Spec.NodeName] == 1 {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	slices.Sort(nodes)
	for i, node := range nodes {
		if n := counts[node]; n > 1 {
			nodes[i] = fmt.Sprintf("%s (%d)", node, n)
		}
	}
	return firstNames(nodes, 2*maxNames)
}
