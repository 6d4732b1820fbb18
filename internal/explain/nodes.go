package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// maxNames limits the names that one line of a Report lists.
const maxNames = 4

// nodeExplainer explains why nodes do not fit one pod.
type nodeExplainer struct {
	*attempt
	report *Report
	pod    *model.Pod
}

// checkOrder is the order in which checks are made: a node that fails a later one passed the
// earlier ones, and so is nearer.
var checkOrder = []nodefit.Check{
	nodefit.CheckDomain, nodefit.CheckUnschedulable, nodefit.CheckTaint, nodefit.CheckNodeAffinity, nodefit.CheckVolume,
	nodefit.CheckClaimNode,
	nodefit.CheckResource, nodefit.CheckHostPort, nodefit.CheckVolumeLimit, nodefit.CheckPodAffinity, nodefit.CheckPodAnti,
	nodefit.CheckForbidden,
	nodefit.CheckSpread, nodefit.CheckDevices, nodefit.CheckMapped, nodefit.CheckDrawBudget, nodefit.CheckDrawLimit,
	nodefit.CheckTogether,
}

func rank(check nodefit.Check) int { return slices.Index(checkOrder, check) }

// classes returns the nodes of a failure in classes, and adds what would help.
func (n *nodeExplainer) classes(f *reason.NodeFailure) []NodeClass {
	if f.Check == nodefit.CheckNodeAffinity {
		return n.affinityClasses(f)
	}
	class := NodeClass{Check: string(f.Check), Nodes: f.Nodes, Reason: f.Reason()}
	for i := range f.Examples {
		class.Examples = append(class.Examples, n.example(f, &f.Examples[i]))
	}
	switch f.Check {
	case nodefit.CheckDevices:
		class.Detail = f.Alloc.Subject()
	case nodefit.CheckResource, nodefit.CheckDomain:
	case nodefit.CheckTaint:
		class.Detail = strings.Join(n.taintsOf(f), ", ")
	case nodefit.CheckPodAffinity:
		class.Detail = "it requires " + n.affinityTerms(func(a *corev1.Affinity) []corev1.PodAffinityTerm {
			if a.PodAffinity == nil {
				return nil
			}
			return a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		})
	case nodefit.CheckPodAnti:
		class.Detail = "it refuses " + n.affinityTerms(func(a *corev1.Affinity) []corev1.PodAffinityTerm {
			if a.PodAntiAffinity == nil {
				return nil
			}
			return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		})
	case nodefit.CheckForbidden:
		class.Detail = "pods there refuse pods with its labels " + labelsText(n.pod.Shape.Labels)
	case nodefit.CheckClaimNode:
		class.Detail = n.tiedTo(f.Claim)
	default:
		class.Detail = f.Detail
	}
	n.helpWith(f)
	return []NodeClass{class}
}

// example returns what was found on one node.
func (n *nodeExplainer) example(f *reason.NodeFailure, e *reason.NodeExample) NodeExample {
	example := NodeExample{Node: e.Node}
	info, ok := n.view.state.Nodes.Get(e.Node)
	if !ok {
		return example
	}
	switch f.Check {
	case nodefit.CheckDevices:
		switch {
		case e.Alloc.NodeIndependent():
		case withoutDevices(e.Alloc):
			example.Found = "no devices are published for the node"
		default:
			example.Found = e.Alloc.Comparison()
		}
	case nodefit.CheckResource:
		name := corev1.ResourceName(f.Detail)
		example.Found = n.lacks(info, name, e.Lacking)
	case nodefit.CheckDomain:
		key, _, _ := strings.Cut(n.topologyKey(), "=")
		if value, has := info.Node.Labels[key]; key != "" && !has {
			example.Found = "has no label " + key
		} else if has {
			example.Found = key + "=" + value
		}
	}
	return example
}

func (n *nodeExplainer) topologyKey() string {
	if n.unit.Group == nil {
		return ""
	}
	return n.unit.Group.Topology
}

// lacks compares what the pod requests of a resource with what the node has.
func (n *nodeExplainer) lacks(info *model.NodeInfo, name corev1.ResourceName, lacking int64) string {
	wants, has := n.pod.Shape.Requests[name], info.Node.Allocatable[name]
	free := max(0, wants-lacking)
	if name == corev1.ResourcePods {
		return fmt.Sprintf("has room for %d pods and all are taken", has)
	}
	if has == 0 {
		return fmt.Sprintf("%s wanted, and the node has none", amount(name, wants))
	}
	if wants > has {
		return fmt.Sprintf("%s wanted, %s free; the node has only %s in all", amount(name, wants), amount(name, free),
			amount(name, has))
	}
	return fmt.Sprintf("%s wanted, %s free of %s: lacks %s", amount(name, wants), amount(name, free), amount(name, has),
		amount(name, lacking))
}

// taintsOf returns the taints that a failure is about, in full.
func (n *nodeExplainer) taintsOf(f *reason.NodeFailure) []string {
	var taints []string
	for i := range f.Examples {
		info, ok := n.view.state.Nodes.Get(f.Examples[i].Node)
		if !ok {
			continue
		}
		for j := range info.Node.Taints {
			if t := &info.Node.Taints[j]; fmt.Sprintf("{%s: %s}", t.Key, t.Value) == f.Detail {
				taints = appendNew(taints, t.ToString())
			}
		}
	}
	return taints
}

// affinityClasses returns a class for each way in which labels of nodes differ from what the pod
// wants.
func (n *nodeExplainer) affinityClasses(f *reason.NodeFailure) []NodeClass {
	fitter := nodefit.New(n.view.state, n.pod.Shape)
	byFound := map[string]*NodeClass{}
	total := 0
	for _, info := range n.view.state.Nodes.List() {
		if fitter.Static(info).Check != nodefit.CheckNodeAffinity {
			continue
		}
		total++
		found := n.labelMiss(info)
		class := byFound[found]
		if class == nil {
			class = &NodeClass{Check: string(f.Check), Reason: f.Reason(), Detail: found}
			byFound[found] = class
		}
		class.Nodes++
		if len(class.Examples) < maxNames*2 {
			class.Examples = append(class.Examples, NodeExample{Node: info.Name})
		}
	}
	if total != f.Nodes { // some failed an earlier check
		byFound = map[string]*NodeClass{
			"": {Check: string(f.Check), Nodes: f.Nodes, Reason: f.Reason(), Detail: n.selectorText()},
		}
		for i := range f.Examples {
			byFound[""].Examples = append(byFound[""].Examples, NodeExample{Node: f.Examples[i].Node})
		}
	}
	var classes []NodeClass
	for _, found := range slices.Sorted(maps.Keys(byFound)) {
		classes = append(classes, *byFound[found])
	}
	n.helpWith(f)
	return classes
}

// labelMiss compares what the pod wants of a node's labels with what the node has.
func (n *nodeExplainer) labelMiss(info *model.NodeInfo) string {
	var misses []string
	for _, key := range slices.Sorted(maps.Keys(n.pod.Shape.NodeSelector)) {
		if want := n.pod.Shape.NodeSelector[key]; info.Node.Labels[key] != want {
			misses = append(misses, fmt.Sprintf("%s=%s wanted, %s", key, want, labelFound(info, key)))
		}
	}
	terms := requiredTerms(n.pod.Shape.Affinity)
	if selector, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: terms}); len(terms) > 0 &&
		err == nil &&
		!selector.Match(info.API()) {
		for i := range terms {
			misses = append(misses, termMisses(info, &terms[i])...)
		}
	}
	return strings.Join(misses, "; ")
}

func requiredTerms(affinity *corev1.Affinity) []corev1.NodeSelectorTerm {
	if affinity == nil || affinity.NodeAffinity == nil ||
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// termMisses returns the requirements of a term that a node does not meet.
func termMisses(info *model.NodeInfo, term *corev1.NodeSelectorTerm) []string {
	var misses []string
	for _, requirement := range slices.Concat(term.MatchExpressions, term.MatchFields) {
		one := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{requirement}}
		found := labelFound(info, requirement.Key)
		if requirement.Key == metav1.ObjectNameField {
			one = corev1.NodeSelectorTerm{MatchFields: one.MatchExpressions}
			found = "it is " + info.Name
		}
		selector, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{one}})
		if err == nil && selector.Match(info.API()) {
			continue
		}
		misses = append(misses, fmt.Sprintf("%s wanted, %s", requirementText(&requirement), found))
	}
	return misses
}

func requirementText(r *corev1.NodeSelectorRequirement) string {
	switch r.Operator {
	case corev1.NodeSelectorOpExists:
		return "label " + r.Key
	case corev1.NodeSelectorOpDoesNotExist:
		return "no label " + r.Key
	case corev1.NodeSelectorOpIn:
		if len(r.Values) == 1 {
			return r.Key + "=" + r.Values[0]
		}
		return fmt.Sprintf("%s in (%s)", r.Key, firstNames(r.Values, maxNames))
	case corev1.NodeSelectorOpNotIn:
		return fmt.Sprintf("%s not in (%s)", r.Key, firstNames(r.Values, maxNames))
	case corev1.NodeSelectorOpGt:
		return fmt.Sprintf("%s greater than %s", r.Key, strings.Join(r.Values, ""))
	case corev1.NodeSelectorOpLt:
		return fmt.Sprintf("%s less than %s", r.Key, strings.Join(r.Values, ""))
	}
	return fmt.Sprintf("%s %s %s", r.Key, r.Operator, strings.Join(r.Values, ","))
}

func labelFound(info *model.NodeInfo, key string) string {
	if value, ok := info.Node.Labels[key]; ok {
		return key[strings.LastIndex(key, "/")+1:] + "=" + value + " found"
	}
	return "not set"
}

// selectorText returns what the pod wants of a node's labels.
func (n *nodeExplainer) selectorText() string {
	var wants []string
	for _, key := range slices.Sorted(maps.Keys(n.pod.Shape.NodeSelector)) {
		wants = append(wants, key+"="+n.pod.Shape.NodeSelector[key])
	}
	for _, term := range requiredTerms(n.pod.Shape.Affinity) {
		for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
			wants = append(wants, requirementText(&r))
		}
	}
	return "wanted: " + strings.Join(wants, ", ")
}

// affinityTerms describes required terms of pod affinity.
func (n *nodeExplainer) affinityTerms(of func(*corev1.Affinity) []corev1.PodAffinityTerm) string {
	if n.pod.Shape.Affinity == nil {
		return ""
	}
	var texts []string
	for _, term := range of(n.pod.Shape.Affinity) {
		selector := metav1.FormatLabelSelector(term.LabelSelector)
		texts = append(texts, fmt.Sprintf("pods with %s in the same %s", selector, term.TopologyKey))
	}
	return strings.Join(texts, ", and ")
}

func labelsText(labels map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	return firstNames(pairs, maxNames)
}

// nearest returns the node where the least is missing: one that failed the latest check.
func (n *nodeExplainer) nearest(failures []reason.NodeFailure) *Nearest {
	if len(failures) == 0 {
		return nil
	}
	f := latestFailure(failures)
	info, ok := n.view.state.Nodes.Get(f.Closest)
	if !ok {
		return nil
	}
	near := &Nearest{Node: f.Closest}
	n.describeFailure(near, f, info)
	n.helpWith(f)
	return near
}

// latestFailure returns the failure of the nodes that passed most checks. Among those that lack
// devices it is the one where the least is missing.
func latestFailure(failures []reason.NodeFailure) *reason.NodeFailure {
	latest := &failures[0]
	for i := range failures[1:] {
		other := &failures[i+1]
		order := cmp.Compare(rank(other.Check), rank(latest.Check))
		if order > 0 ||
			order == 0 && other.Check == nodefit.CheckDevices && other.Alloc.IsCloser(latest.Alloc) {
			latest = other
		}
	}
	return latest
}

// describeFailure fills in what is missing on the nearest node, and its holders.
func (n *nodeExplainer) describeFailure(near *Nearest, f *reason.NodeFailure, info *model.NodeInfo) {
	switch f.Check {
	case nodefit.CheckDevices:
		n.nearestDevices(near, f.Alloc)
	case nodefit.CheckResource:
		name := corev1.ResourceName(f.Detail)
		near.Missing = fmt.Sprintf("%s: %s", name, n.lacks(info, name, f.Lacking))
		near.Holders = n.resourceHolders(info, name)
	case nodefit.CheckHostPort:
		near.Missing = "a host port of the pod is taken"
		near.Holders = n.portHolders(info)
	case nodefit.CheckTaint:
		near.Missing = "only the taint " + strings.Join(n.taintsOf(f), ", ") + " is not tolerated, of what was checked first"
	case nodefit.CheckNodeAffinity:
		near.Missing = cmp.Or(n.labelMiss(info), n.selectorText())
	case nodefit.CheckClaimNode:
		near.Missing = n.tiedTo(f.Claim)
	case nodefit.CheckVolume:
		near.Missing = n.volumeText(f)
	case nodefit.CheckPodAnti, nodefit.CheckForbidden:
		near.Missing = map[nodefit.Check]string{
			nodefit.CheckPodAnti: "pods run there that it refuses", nodefit.CheckForbidden: "pods run there that refuse it",
		}[f.Check]
		near.Holders = n.antiHolders(info, f.Check)
	default:
		near.Missing = f.Reason()
		if f.Detail != "" {
			near.Missing += " (" + f.Detail + ")"
		}
	}
}

// volumeText describes from where a volume can be used.
func (n *nodeExplainer) volumeText(f *reason.NodeFailure) string {
	text := "PersistentVolume " + f.Detail
	volume, ok := n.view.state.Volumes.Get(f.Volume)
	if !ok {
		return text + " cannot be used there"
	}
	var wants []string
	for _, selector := range volume.Nodes {
		for _, term := range selector.NodeSelectorTerms {
			for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
				wants = append(wants, requirementText(&r))
			}
		}
	}
	return text + " can be used from nodes with " + strings.Join(wants, ", ") + " alone"
}

// maxHolders limits the holders that are listed of one node.
const maxHolders = 8

// resourceHolders returns the pods that use most of a resource of a node.
func (n *nodeExplainer) resourceHolders(info *model.NodeInfo, name corev1.ResourceName) []Holder {
	var using []*model.Pod
	for _, pod := range info.Pods {
		if pod.Shape.Requests[name] > 0 {
			using = append(using, pod)
		}
	}
	slices.SortFunc(using, func(a, b *model.Pod) int {
		return cmp.Or(cmp.Compare(b.Shape.Requests[name], a.Shape.Requests[name]),
			cmp.Compare(a.Key.String(), b.Key.String()))
	})
	var holders []Holder
	for i, pod := range using {
		if i == maxHolders {
			break
		}
		holders = append(holders, Holder{
			Held: amount(name, pod.Shape.Requests[name]) + " " + string(
				name,
			), Consumers: []string{n.podText(pod)}, Preemption: n.preemptible(pod),
		})
	}
	return holders
}

// portHolders returns the pods that have a host port that the pod wants.
func (n *nodeExplainer) portHolders(info *model.NodeInfo) []Holder {
	var holders []Holder
	for _, key := range sortedKeys(info.Pods) {
		other := info.Pods[key]
		for _, wanted := range n.pod.Shape.HostPorts {
			for _, taken := range other.Shape.HostPorts {
				if wanted.Clashes(taken) {
					holders = append(holders, Holder{
						Held:      fmt.Sprintf("port %d/%s", taken.Port, taken.Protocol),
						Consumers: []string{n.podText(other)}, Preemption: n.preemptible(other),
					})
				}
			}
		}
	}
	return holders
}

func sortedKeys[V any](m map[model.Key]V) []model.Key {
	return slices.SortedFunc(maps.Keys(m), func(a, b model.Key) int { return cmp.Compare(a.String(), b.String()) })
}

// resourcesText formats what a pod requests of a node.
func resourcesText(requests model.Resources) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if name != corev1.ResourcePods {
			parts = append(parts, string(name)+" "+amount(name, requests[name]))
		}
	}
	return strings.Join(parts, ", ")
}

// tiedTo describes from where the devices of an allocated claim can be used.
func (n *nodeExplainer) tiedTo(key model.Key) string {
	for _, c := range n.reasons.Constraints {
		if c.Claim == key {
			return "the devices of ResourceClaim " + key.Name + " that its other pods would get can be used from " + c.Where +
				" alone"
		}
	}
	claim, ok := n.view.state.Claims.Get(key)
	if !ok || claim.Allocation == nil || claim.Allocation.NodeSelector == nil {
		return "ResourceClaim " + key.Name + " cannot be used there"
	}
	text := "the devices of ResourceClaim " + key.Name + " can be used from "
	name, one := nodefit.TiedNode(claim.Allocation.NodeSelector)
	if !one {
		var wants []string
		for _, term := range claim.Allocation.NodeSelector.NodeSelectorTerms {
			for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
				wants = append(wants, requirementText(&r))
			}
		}
		return text + "nodes with " + strings.Join(wants, ", ") + " alone"
	}
	if info, ok := n.view.state.Nodes.Get(name); !ok || info.Node == nil {
		return text + "node " + name + " alone, which does not exist any more"
	}
	return text + "node " + name + " alone"
}
