package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// helpWith adds what would help against a check that nodes failed.
func (n *nodeExplainer) helpWith(f *reason.NodeFailure) {
	nodes := exampleNodes(f)
	switch f.Check {
	case nodefit.CheckUnschedulable:
		n.report.help("Nodes that were cordoned take pods again after:", formatEach(nodes, "kubectl uncordon %s")...)
	case nodefit.CheckTaint:
		n.helpWithTaint(f, nodes)
	case nodefit.CheckNodeAffinity:
		n.helpWithLabels(f)
	case nodefit.CheckResource:
		n.helpWithResource(f)
	case nodefit.CheckClaimNode:
		n.helpWithClaimNode(f.Claim)
	case nodefit.CheckPodAnti, nodefit.CheckForbidden:
		n.report.help(
			"Add a node, delete or move the pods in the way, or make the rule a preference (preferredDuringSchedulingIgnoredDuringExecution).",
		)
	case nodefit.CheckHostPort:
		n.report.help(
			"A port of a node can be used once: use another hostPort, none at all with a Service, or a node where it is free.",
		)
	case nodefit.CheckPodAffinity:
		n.report.help("The pods that it requires have to run first, where there is room for it, too.")
	case nodefit.CheckSpread:
		n.report.help(
			"The spread constraint " + f.Detail + " allows the pod only where few pods of its kind run: make room there, raise maxSkew, " +
				"or set whenUnsatisfiable: ScheduleAnyway.",
		)
	case nodefit.CheckVolume:
		n.report.help("The volume can be used from other nodes alone: make room there, or use another volume.",
			"kubectl describe pv "+f.Volume)
	}
}

func exampleNodes(f *reason.NodeFailure) []string {
	var nodes []string
	for i := range f.Examples {
		if i < maxNames {
			nodes = append(nodes, f.Examples[i].Node)
		}
	}
	return nodes
}

func formatEach(names []string, format string) []string {
	commands := make([]string, len(names))
	for i, name := range names {
		commands[i] = fmt.Sprintf(format, name)
	}
	return commands
}

func (n *nodeExplainer) helpWithTaint(f *reason.NodeFailure, nodes []string) {
	key := strings.TrimPrefix(f.Detail[:max(0, strings.Index(f.Detail, ":"))], "{")
	if after, ok := strings.CutPrefix(key, "node.kubernetes.io/"); ok {
		what := after
		n.report.help(
			"Nodes are tainted as "+what+" by the control plane, as long as they are: repair them.",
			formatEach(nodes, "kubectl describe node %s")...)
		return
	}
	n.report.help(
		"Add a toleration for "+key+" to the pod, if it is meant to run there, or remove the taint:",
		formatEach(nodes, "kubectl taint node %s "+key+"-")...)
}

func (n *nodeExplainer) helpWithResource(f *reason.NodeFailure) {
	name := corev1.ResourceName(f.Detail)
	wants, most := n.pod.Shape.Requests[name], int64(0)
	for _, info := range n.view.state.Nodes.List() {
		most = max(most, info.Node.Allocatable[name])
	}
	if wants > most {
		if most == 0 {
			n.report.help(
				fmt.Sprintf(
					"No node has %s: correct the name of the resource, or look for the driver or device plugin that offers it.", name,
				),
			)
			return
		}
		n.report.help(
			fmt.Sprintf("No node is large enough: the largest has %s of %s. Request less, or add larger nodes.",
				amount(name, most), name),
		)
		return
	}
	n.report.help(
		fmt.Sprintf("Free %s of %s on %s, request less, or add a node.", amount(name, f.Lacking), name, f.Closest),
		"allot explain node "+f.Closest,
	)
}

func (n *nodeExplainer) helpWithClaimNode(key model.Key) {
	for _, c := range n.reasons.Constraints {
		if c.Claim == key {
			n.report.help(
				"The pods of the group share the devices of " + key.Name +
					" and must run where these can be used: remove what keeps " +
					"them apart (node selectors, anti-affinity), or make room for all of them there.",
			)
			return
		}
	}
	claim, ok := n.view.state.Claims.Get(key)
	if !ok || claim.Allocation == nil {
		return
	}
	name, one := nodefit.TiedNode(claim.Allocation.NodeSelector)
	if !one {
		return
	}
	if info, ok := n.view.state.Nodes.Get(name); ok && info.Node != nil {
		n.report.help("The pod has to run where the devices of its claim are: make room on that node.",
			"allot explain node "+name)
		return
	}
	n.report.help(
		"The node with the devices does not exist. Delete the claim, and the pods that still use it: it is made again, with other devices "+
			"(a claim that was created by hand has to be created again).",
		kubectl("delete", "resourceclaim", key),
	)
}

// helpWithLabels adds how a node would match.
func (n *nodeExplainer) helpWithLabels(f *reason.NodeFailure) {
	if len(n.pod.Shape.NodeSelector) == 0 || len(requiredTerms(n.pod.Shape.Affinity)) > 0 {
		n.report.help("Change the required node affinity of the pod, or label a node that is meant. The labels there are:",
			"kubectl get nodes --show-labels")
		return
	}
	if host, ok := n.pod.Shape.NodeSelector[corev1.LabelHostname]; ok {
		n.report.help("The pod is for node "+host+" alone, by its nodeSelector: make room there, or remove the selector.",
			"allot explain node "+host)
		return
	}
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(n.pod.Shape.NodeSelector)) {
		pairs = append(pairs, key+"="+n.pod.Shape.NodeSelector[key])
	}
	n.report.help("Change the nodeSelector of the pod, or label a node that is meant:",
		fmt.Sprintf("kubectl label node %s %s --overwrite", f.Closest, strings.Join(pairs, " ")))
}

// preemption adds whether preemption helps.
func (a *attempt) preemption(r *Report) {
	result := a.reasons.Preemption
	switch {
	case a.preempted != nil && len(a.preempted.Victims) > 0:
		a.victims(r)
	case a.preempted != nil && len(a.preempted.Reclaims) > 0:
		var names []string
		for _, reclaim := range a.preempted.Reclaims {
			names = append(names, reclaim.Claim.String())
		}
		r.fact("Preemption", "would free the unused devices of "+firstNames(names, maxNames))
	case a.preempted != nil:
		r.fact("Preemption", "not needed: it fits when the pods that terminate now have terminated")
		r.help("Wait: pods that are being deleted make room.")
	case result != nil:
		r.fact("Preemption", strings.TrimPrefix(result.String(), "preemption: "))
	case a.unit != nil && len(r.Pods) > 0 && len(r.Pods[0].Nodes) > 0 &&
		!a.view.state.Pods.HasLowerPriority(a.unit.Priority):
		r.fact("Preemption", fmt.Sprintf("impossible: no pod has a lower priority than %d", a.unit.Priority))
	}
	if a.reasons.Priority != "" {
		r.fact("Priority of the group", a.reasons.Priority)
	}
}

// victims adds which pods would be evicted.
func (a *attempt) victims(r *Report) {
	var names, commands []string
	devices := false
	for i := range a.preempted.Victims {
		v := &a.preempted.Victims[i]
		for _, pod := range v.Pods {
			names = append(names, pod.Key.String())
			commands = append(commands, kubectl("delete", "pod", pod.Key))
			devices = devices || len(pod.Claims) > 0 || pod.Extended != ""
		}
	}
	text := fmt.Sprintf("evicting %s would make room: %s", count(len(names), "pod"), firstNames(names, maxNames))
	if n := a.preempted.Violations; n > 0 {
		text += fmt.Sprintf(" (against the PodDisruptionBudgets of %d)", n)
	}
	r.fact("Preemption", text)
	if len(commands) > maxNames {
		commands = commands[:maxNames]
	}
	if !r.Recomputed {
		r.help(
			"The scheduler evicts these pods itself, as they have a lower priority. If it does not, look at its log. By hand:",
			commands...)
		return
	}
	what := "These pods have a lower priority, and deleting them makes room:"
	if devices {
		what = "kube-scheduler 1.37 does not preempt pods for their devices. Deleting these pods, which have a lower priority, makes room:"
	}
	r.help(what, commands...)
}
