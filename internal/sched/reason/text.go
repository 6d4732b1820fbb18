package reason

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// Short returns the reasons in one line, for conditions and events: a few of what is in the way,
// and nothing of other namespaces.
func (r *Reasons) Short() string { return r.With(r.text(false)) }

// String returns the reasons in one line, with what is missing on the closest nodes, and holders.
func (r *Reasons) String() string { return r.With(r.text(true)) }

// With returns a text about the unit, or some of its pods, with what is known of the whole unit.
func (r *Reasons) With(text string) string {
	if r.broken != "" && !strings.Contains(text, r.broken) {
		text = r.broken + "; " + text
	}
	if r.elsewhere != nil {
		text += "; with other devices: " + r.elsewhere.text(false)
	}
	if r.Preemption != nil {
		text = appended(text, r.Preemption.String())
	}
	if r.Priority != "" {
		text = appended(text, r.Priority)
	}
	return text
}

// appended returns a text followed by another one.
func appended(text, more string) string {
	if strings.HasSuffix(text, ".") {
		return text + " " + more
	}
	return text + "; " + more
}

func (r *Reasons) text(long bool) string {
	if r.Tree == "" {
		return r.unitText(long)
	}
	if len(r.Pods) == 0 && r.Topology.Conflict == "" {
		return r.Tree
	}
	return r.Tree + ": " + r.unitText(long)
}

// unitText returns the reasons of a unit, or of the part of a tree that was not placed.
func (r *Reasons) unitText(long bool) string {
	switch r.Code {
	case GroupMissing:
		return fmt.Sprintf("PodGroup %s does not exist", r.Unit.Key)
	case BelowQuorum:
		return r.quorum()
	case Gated:
		return r.Gates
	}
	if r.Topology.Conflict != "" {
		return r.Topology.Conflict
	}
	if r.Topology.Label != "" && r.Code == Unschedulable && len(r.Topology.Domains) == 0 && len(r.Pods) == 0 {
		return fmt.Sprintf("no node that suits the pods has the label %s", r.Topology.Label)
	}
	var parts []string
	if lead := r.lead(); lead != "" {
		parts = append(parts, lead)
	}
	for i := range r.Pods {
		parts = append(parts, r.Pods[i].text(r.Unit, long))
	}
	return strings.Join(parts, "; ")
}

// lead returns what comes before the reasons of pods.
func (r *Reasons) lead() string {
	var lead string
	switch {
	case r.Code == Undecided:
		lead = fmt.Sprintf("search limit of %d steps reached; best attempt placed %d of %d pods", r.Steps, r.Placed, r.Min)
	case r.Code == LeftOver || r.Min <= 1:
		return ""
	case r.Code == Unschedulable:
		lead = fmt.Sprintf("%d of %d pods fit together", r.Placed, r.Min)
	default:
		return ""
	}
	lead += r.domains()
	for _, c := range r.Constraints {
		lead += fmt.Sprintf(", with claim %s tied to %s", c.Claim, c.Where)
	}
	return lead
}

// namedDomains is how many domains a reason names.
const namedDomains = 3

// domains returns how many pods fit into each domain, those where the most fit first.
func (r *Reasons) domains() string {
	if r.Topology.Label == "" {
		return ""
	}
	what := keyName(r.Topology.Label)
	if r.Topology.Fixed != "" {
		return fmt.Sprintf(" in %s %s, where the group's other pods are", what, r.Topology.Fixed)
	}
	list := slices.Clone(r.Topology.Domains)
	slices.SortStableFunc(list, func(a, b DomainFit) int { return cmp.Compare(b.Fits, a.Fits) })
	var parts []string
	for i, d := range list {
		if d.Fits == 0 {
			parts = append(parts, fmt.Sprintf("%d more: none", len(list)-i))
			break
		}
		if i == namedDomains {
			parts = append(parts, fmt.Sprintf("%d more: at most %d each", len(list)-i, d.Fits))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s: %d", what, d.Value, d.Fits))
	}
	return fmt.Sprintf(" in one %s (%s)", what, strings.Join(parts, ", "))
}

// keyName returns a label's key without its prefix.
func keyName(key string) string { return key[strings.LastIndex(key, "/")+1:] }

// DomainName returns the name of a domain in texts.
func DomainName(key, value string) string { return keyName(key) + " " + value }

func (r *Reasons) quorum() string {
	text := fmt.Sprintf("%d of %d pods exist", r.Quorum.Census.Quorum(), r.Quorum.MinCount)
	var others []string
	for _, other := range []struct {
		n    int
		what string
	}{{r.Quorum.Census.Gated, "gated"}, {r.Quorum.Census.Foreign, "of another scheduler"},
		{r.Quorum.Census.Deleting, "being deleted"}, {r.Quorum.Census.Finished, "finished"}} {
		if other.n > 0 {
			others = append(others, fmt.Sprintf("%d %s", other.n, other.what))
		}
	}
	if len(others) > 0 {
		text += " (not counted: " + strings.Join(others, ", ") + ")"
	}
	return text
}

// Short returns why these pods were not placed, in one line and without their names.
func (p *PodReasons) Short() string { return p.text(model.UnitKey{}, false) }

func (p *PodReasons) text(unit model.UnitKey, long bool) string {
	subject := ""
	if unit.Group || unit.Tree {
		subject = "pod " + p.Pods[0].Name + ": "
		if more := len(p.Pods) - 1; more > 0 {
			subject = fmt.Sprintf("pod %s and %d more: ", p.Pods[0].Name, more)
		}
	}
	switch {
	case p.Blocker != nil:
		return subject + p.Blocker.Text
	case p.Alloc != nil:
		return subject + p.Alloc.String()
	case p.Nodes == 0:
		return subject + "no nodes available to schedule pods"
	}
	return fmt.Sprintf("%s0/%d nodes are available: %s.%s", subject, p.Nodes, p.histogram(), p.details(long))
}

// histogram returns how many nodes failed at what, in the words and the order of kube-scheduler:
// people and tools know them.
func (p *PodReasons) histogram() string {
	counts := map[string]int{}
	for i := range p.Failures {
		counts[p.Failures[i].Reason()] += p.Failures[i].Nodes
	}
	parts := make([]string, 0, len(counts))
	for reason, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// details returns what kube-scheduler does not report: which taint, volume, claim and devices are
// in the way.
func (p *PodReasons) details(long bool) string {
	var parts []string
	for i := range p.Failures {
		f := &p.Failures[i]
		text := f.detail(long)
		if text == "" {
			continue
		}
		if len(p.Failures) > 1 && f.Check != nodefit.CheckDevices && f.Check != nodefit.CheckResource {
			text += fmt.Sprintf(" (%d)", f.Nodes)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, "; ") + "."
}

// Reason returns the words of kube-scheduler for what the nodes failed at.
func (f *NodeFailure) Reason() string {
	switch f.Check {
	case nodefit.CheckDomain:
		return "node(s) were outside " + f.Detail
	case nodefit.CheckResource:
		if f.Detail == "pods" {
			return "Too many pods"
		}
		return "Insufficient " + f.Detail
	case nodefit.CheckMapped:
		return "node(s) where another pod uses ResourceClaim " + f.Detail + " for node-allocatable resources"
	case nodefit.CheckDrawBudget:
		return "pod level request for " + f.Detail + " is insufficient to cover the aggregated container and node-allocatable DRA requests"
	case nodefit.CheckDrawLimit:
		return "pod level limit for " + f.Detail
	}
	return fixedReason(f.Check)
}

// fixedReason returns the words for checks whose reason names nothing.
func fixedReason(check nodefit.Check) string {
	switch check {
	case nodefit.CheckUnschedulable:
		return "node(s) were unschedulable"
	case nodefit.CheckTaint:
		return "node(s) had untolerated taint(s)"
	case nodefit.CheckNodeAffinity:
		return "node(s) didn't match Pod's node affinity/selector"
	case nodefit.CheckVolume:
		return "node(s) didn't match PersistentVolume's node affinity"
	case nodefit.CheckClaimNode:
		return "resourceclaim not available on the node"
	case nodefit.CheckHostPort:
		return "node(s) didn't have free ports for the requested pod ports"
	case nodefit.CheckVolumeLimit:
		return "node(s) exceed max volume count"
	case nodefit.CheckPodAffinity:
		return "node(s) didn't match pod affinity rules"
	case nodefit.CheckPodAnti:
		return "node(s) didn't match pod anti-affinity rules"
	case nodefit.CheckForbidden:
		return "node(s) didn't satisfy existing pods anti-affinity rules"
	case nodefit.CheckSpread:
		return "node(s) didn't match pod topology spread constraints"
	case nodefit.CheckTogether:
		return "node(s) fit this pod but not all pods sharing its ResourceClaim"
	default:
		return "cannot allocate all claims"
	}
}

// detail returns what the nodes failed at beyond the reason, or "".
func (f *NodeFailure) detail(long bool) string {
	switch f.Check {
	case nodefit.CheckTaint:
		return "taint " + f.Detail
	case nodefit.CheckVolume:
		return "PersistentVolume " + f.Detail
	case nodefit.CheckClaimNode:
		return "devices of claim " + f.Claim.String()
	case nodefit.CheckVolumeLimit:
		return "volumes of " + f.Detail
	case nodefit.CheckSpread:
		return "spread over " + f.Detail
	case nodefit.CheckResource:
		if long {
			return fmt.Sprintf("%s lacks %s of %s", f.Closest, amount(f.Detail, f.Lacking), f.Detail)
		}
	case nodefit.CheckDevices:
		return f.devices(long)
	}
	return ""
}

// devices returns why claims cannot be allocated, for the node where the least is missing.
func (f *NodeFailure) devices(long bool) string {
	if f.Alloc.NodeIndependent() {
		return f.Alloc.String()
	}
	text := f.Alloc.Subject() + ": "
	if f.Nodes > 1 {
		text += "nearest is " + f.Closest + ", "
	}
	text += f.Alloc.Comparison()
	if long {
		return text + f.Alloc.Details() + f.pools()
	}
	return text + f.Alloc.ShortDetails() + f.pools()
}

// namedPools is how many unusable pools of other nodes a reason names.
const namedPools = 2

// pools names the pools that cannot be used on other nodes than the nearest, if that has too few
// devices that match.
func (f *NodeFailure) pools() string {
	if f.Alloc.Match >= max(1, f.Alloc.Wanted) {
		return ""
	}
	var others []string
	for _, pool := range f.Pools {
		if !slices.Contains(f.Alloc.Pools, pool) {
			others = append(others, pool)
		}
	}
	if len(others) == 0 {
		return ""
	}
	if more := len(others) - namedPools; more > 0 {
		others = append(others[:namedPools:namedPools], fmt.Sprintf("%d more", more))
	}
	return "; on other nodes " + strings.Join(others, ", ")
}

func amount(resource string, n int64) string {
	if resource == "cpu" {
		return fmt.Sprintf("%dm", n)
	}
	return fmt.Sprint(n)
}
