package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// Code says in which way a unit could not be placed.
type Code string

// A unit waits for its PodGroup, for more members, for scheduling gates of members, or for claims; or it was tried and does not fit; or the search
// ended undecided. CodeLeftOver stands beside a Plan: some pods have no place, but enough have.
const (
	CodeGroupMissing  Code = "GroupMissing"
	CodeBelowQuorum   Code = "BelowQuorum"
	CodeGated         Code = "Gated"
	CodeWaiting       Code = "Waiting"
	CodeUnschedulable Code = "Unschedulable"
	CodeUndecided     Code = "Undecided"
	CodeLeftOver      Code = "LeftOver"
)

// Reasons say why pods of a unit have no place. They are data; String and Short print them.
type Reasons struct {
	Unit      model.UnitKey
	Code      Code
	HalfBound bool // the unit is a gang of which some members, too few, are bound

	Min      int          // how many pods had to be placed together
	Placed   int          // the most that could be
	MinCount int          // of a gang
	Census   model.Census // of a gang

	// Ties are shared claims that held the pods to certain nodes in the best attempt.
	Ties []Tie
	// Pods say, for pods that are alike, why they have no place, given the places of the others.
	Pods  []PodReasons
	Steps int // spent, if Undecided
	// Unfinished reports that the budget of a slice did not suffice, and that the next one has a larger budget.
	Unfinished bool

	// Costly: expressions cost too much to be evaluated in one attempt. The next one goes on with them.
	Costly bool

	// Of a group that has to be in one domain of a node label: the label, the domain that pods which are bound have
	// settled, or why they have not, and else how many of the waiting pods fit into each domain at most, in the order tried.
	Topology    string
	FixedDomain string
	Conflict    string
	// Gates names the members whose scheduling gates hold the group.
	Gates   string
	Domains []DomainFit

	// Preemption says what comes of making room for the unit; nil if that was not tried, or nobody is less important.
	Preemption *Outlook

	// broken says what is wrong with devices that the unit has, and elsewhere why it has no place without them; see Stay.
	broken    string
	elsewhere *Reasons

	// priority is a hint that the group's priority counts, if pods of it have a higher one; "" otherwise.
	priority string

	steps int // of the slice
	// further are changes that can help beyond what Pods say: they tell of the best attempt only.
	further []model.Topic
	// dependencies are changes that can help a unit for which room can be made on a node: a node is counted at the first check
	// that it fails, which preemption may remove, and what it fails at after that decides.
	dependencies []model.Topic
	offers       []model.Topic     // on which it depends whether devices stand in the place of what pods ask for, and which
	shapes       []*nodefit.Fitter // of the pods that were tried
	room         *model.Unit       // for which room could be made if more came free; nil: none
	// roomless: there are too few free devices, so that room on nodes does not help.
	roomless bool
}

// DomainFit is how many of a unit's pods fit into one domain.
type DomainFit struct {
	Value string
	Fits  int
}

// Tie says where the devices of a shared claim can be used from.
type Tie struct {
	Claim model.Key
	Where string
}

// PodReasons say why some pods that are alike have no place. Exactly one of Wait, Alloc and Blocks is set.
type PodReasons struct {
	Pods   []model.Key
	Wait   *Wait         // they cannot be tried
	Alloc  *alloc.Reason // their claims cannot be allocated on any node
	Nodes  int           // how many nodes were looked at
	Blocks []Block       // what stood in the way, the most frequent first
}

// Block is a check that nodes failed.
type Block struct {
	Check  nodefit.Check
	Detail string
	Nodes  int
	// The nearest miss: on this node the least was missing.
	Nearest string
	Lacking int64         // of a resource there
	Alloc   *alloc.Reason // why claims cannot be allocated there
	Claim   model.Key     // that cannot be used there
	Volume  string        // PersistentVolume that cannot be used there
	Pools   []string      // pools of any of the nodes that cannot be used, and why
}

func (r *Reasons) addWaiting(pod model.Key, wait Wait) {
	for i := range r.Pods {
		if have := r.Pods[i].Wait; have != nil && have.Text == wait.Text {
			r.Pods[i].Pods = append(r.Pods[i].Pods, pod)
			return
		}
	}
	r.Pods = append(r.Pods, PodReasons{Pods: []model.Key{pod}, Wait: &wait})
}

// Short is the reasons in one line, for conditions and events: of what is in the way a few, and nothing of other namespaces.
func (r *Reasons) Short() string { return r.With(r.text(false)) }

// String is the reasons in one line, with nearest misses and holders.
func (r *Reasons) String() string { return r.With(r.text(true)) }

// With is a text that tells of the unit, or of some of its pods, and why no room can be made.
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
	if r.priority != "" {
		text = appended(text, r.priority)
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
	switch r.Code {
	case CodeGroupMissing:
		return fmt.Sprintf("PodGroup %s does not exist", r.Unit.Key)
	case CodeBelowQuorum:
		return r.quorum()
	case CodeGated:
		return r.Gates
	}
	if r.Conflict != "" {
		return r.Conflict
	}
	if r.Topology != "" && r.Code == CodeUnschedulable && len(r.Domains) == 0 && len(r.Pods) == 0 {
		return fmt.Sprintf("no node that suits the pods has the label %s", r.Topology)
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

// lead is what comes before the single pods' reasons.
func (r *Reasons) lead() string {
	lead := ""
	switch {
	case r.Code == CodeUndecided:
		lead = fmt.Sprintf("search limit of %d steps reached; best attempt placed %d of %d pods", r.Steps, r.Placed, r.Min)
	case r.Code == CodeLeftOver || r.Min <= 1:
		return ""
	case r.Code == CodeUnschedulable:
		lead = fmt.Sprintf("%d of %d pods fit together", r.Placed, r.Min)
	default:
		return ""
	}
	lead += r.domains()
	for _, tie := range r.Ties {
		lead += fmt.Sprintf(", with claim %s tied to %s", tie.Claim, tie.Where)
	}
	return lead
}

// namedDomains is how many domains a reason names.
const namedDomains = 3

// domains says how many pods fit into which domain, those where the most fit first.
func (r *Reasons) domains() string {
	if r.Topology == "" {
		return ""
	}
	what := keyName(r.Topology)
	if r.FixedDomain != "" {
		return fmt.Sprintf(" in %s %s, where the group's other pods are", what, r.FixedDomain)
	}
	list := slices.Clone(r.Domains)
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

// keyName is a label's key without its prefix.
func keyName(key string) string { return key[strings.LastIndex(key, "/")+1:] }

func (r *Reasons) quorum() string {
	text := fmt.Sprintf("%d of %d pods exist", r.Census.Quorum(), r.MinCount)
	var others []string
	for _, other := range []struct {
		n    int
		what string
	}{{r.Census.Gated, "gated"}, {r.Census.Foreign, "of another scheduler"}, {r.Census.Deleting, "being deleted"}, {r.Census.Finished, "finished"}} {
		if other.n > 0 {
			others = append(others, fmt.Sprintf("%d %s", other.n, other.what))
		}
	}
	if len(others) > 0 {
		text += " (not counted: " + strings.Join(others, ", ") + ")"
	}
	return text
}

// Short is why these pods have no place, in one line and without naming them.
func (p *PodReasons) Short() string { return p.text(model.UnitKey{}, false) }

func (p *PodReasons) text(unit model.UnitKey, long bool) string {
	who := ""
	if unit.Group {
		who = "pod " + p.Pods[0].Name + ": "
		if more := len(p.Pods) - 1; more > 0 {
			who = fmt.Sprintf("pod %s and %d more: ", p.Pods[0].Name, more)
		}
	}
	switch {
	case p.Wait != nil:
		return who + p.Wait.Text
	case p.Alloc != nil:
		return who + p.Alloc.String()
	case p.Nodes == 0:
		return who + "no nodes available to schedule pods"
	}
	return fmt.Sprintf("%s0/%d nodes are available: %s.%s", who, p.Nodes, p.histogram(), p.details(long))
}

// histogram returns how many nodes failed at what, in the words and the order of kube-scheduler: people and tools know them.
func (p *PodReasons) histogram() string {
	counts := map[string]int{}
	for i := range p.Blocks {
		counts[p.Blocks[i].reason()] += p.Blocks[i].Nodes
	}
	parts := make([]string, 0, len(counts))
	for reason, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// details returns what kube-scheduler does not report: which taint, volume, claim and devices are in the way.
func (p *PodReasons) details(long bool) string {
	var parts []string
	for i := range p.Blocks {
		b := &p.Blocks[i]
		text := b.detail(long)
		if text == "" {
			continue
		}
		if len(p.Blocks) > 1 && b.Check != nodefit.CheckDevices && b.Check != nodefit.CheckResource {
			text += fmt.Sprintf(" (%d)", b.Nodes)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, "; ") + "."
}

// reason returns the words of kube-scheduler for what the nodes failed at.
func (b *Block) reason() string {
	switch b.Check {
	case nodefit.CheckUnschedulable:
		return "node(s) were unschedulable"
	case nodefit.CheckTaint:
		return "node(s) had untolerated taint(s)"
	case nodefit.CheckNodeAffinity:
		return "node(s) didn't match Pod's node affinity/selector"
	case nodefit.CheckDomain:
		return "node(s) were outside " + b.Detail
	case nodefit.CheckVolume:
		return "node(s) didn't match PersistentVolume's node affinity"
	case nodefit.CheckClaimNode:
		return "resourceclaim not available on the node"
	case nodefit.CheckResource:
		if b.Detail == "pods" {
			return "Too many pods"
		}
		return "Insufficient " + b.Detail
	case nodefit.CheckHostPort:
		return "node(s) didn't have free ports for the requested pod ports"
	case nodefit.CheckVolumeLimit:
		return "node(s) exceed max volume count"
	case nodefit.CheckPodAffinity:
		return "node(s) didn't match pod affinity rules"
	case nodefit.CheckPodAnti:
		return "node(s) didn't match pod anti-affinity rules"
	case nodefit.CheckTogether:
		return "node(s) fit this pod but not all pods sharing its ResourceClaim"
	case nodefit.CheckSpread:
		return "node(s) didn't match pod topology spread constraints"
	case nodefit.CheckMapped:
		return "node(s) where another pod uses ResourceClaim " + b.Detail + " for node-allocatable resources"
	case nodefit.CheckDrawBudget:
		return "pod level request for " + b.Detail + " is insufficient to cover the aggregated container and node-allocatable DRA requests"
	case nodefit.CheckForbidden:
		return "node(s) didn't satisfy existing pods anti-affinity rules"
	}
	return "cannot allocate all claims"
}

// detail returns what the nodes failed at beyond the reason, or "".
func (b *Block) detail(long bool) string {
	switch b.Check {
	case nodefit.CheckTaint:
		return "taint " + b.Detail
	case nodefit.CheckVolume:
		return "PersistentVolume " + b.Detail
	case nodefit.CheckClaimNode:
		return "devices of claim " + b.Claim.String()
	case nodefit.CheckVolumeLimit:
		return "volumes of " + b.Detail
	case nodefit.CheckSpread:
		return "spread over " + b.Detail
	case nodefit.CheckResource:
		if long {
			return fmt.Sprintf("%s lacks %s of %s", b.Nearest, amount(b.Detail, b.Lacking), b.Detail)
		}
	case nodefit.CheckDevices:
		return b.devices(long)
	}
	return ""
}

// devices returns why claims cannot be allocated, for the node where the least is missing.
func (b *Block) devices(long bool) string {
	if b.Alloc.NodeIndependent() {
		return b.Alloc.String()
	}
	text := b.Alloc.Subject() + ": "
	if b.Nodes > 1 {
		text += "nearest is " + b.Nearest + ", "
	}
	text += b.Alloc.Comparison()
	if long {
		return text + b.Alloc.Details() + b.pools()
	}
	return text + b.Alloc.ShortDetails() + b.pools()
}

// namedPools is how many unusable pools of other nodes a reason names.
const namedPools = 2

// pools names the pools that cannot be used on other nodes than the nearest, if that has too few devices that match.
func (b *Block) pools() string {
	if b.Alloc.Match >= max(1, b.Alloc.Wanted) {
		return ""
	}
	var others []string
	for _, pool := range b.Pools {
		if !slices.Contains(b.Alloc.Pools, pool) {
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

// Topics are the changes after which the unit may be placed, or the reasons be other ones.
func (r *Reasons) Topics() []model.Topic {
	set := map[model.Topic]bool{}
	if r.Unit.Group {
		set[model.Topic{Kind: model.TopicGroup, Key: r.Unit.Key}] = true
		set[model.Topic{Kind: model.TopicMembers, Key: r.Unit.Key}] = true
	} else {
		set[model.Topic{Kind: model.TopicPod, Key: r.Unit.Key}] = true
	}
	for i := range r.Pods {
		r.Pods[i].topics(set)
	}
	for _, topic := range slices.Concat(r.further, r.offers) {
		set[topic] = true
	}
	if r.roomless {
		delete(set, model.Topic{Kind: model.TopicRoom})
	}
	list := make([]model.Topic, 0, len(set))
	for topic := range set {
		list = append(list, topic)
	}
	slices.SortFunc(list, func(a, b model.Topic) int { return strings.Compare(a.String(), b.String()) })
	return list
}

func (p *PodReasons) topics(set map[model.Topic]bool) {
	if p.Wait != nil {
		for _, topic := range p.Wait.Topics {
			set[topic] = true
		}
		return
	}
	if p.Alloc != nil {
		for _, topic := range p.Alloc.Topics() {
			set[topic] = true
		}
		return
	}
	set[model.Topic{Kind: model.TopicNodes}] = true
	for i := range p.Blocks {
		b := &p.Blocks[i]
		switch b.Check {
		case nodefit.CheckResource, nodefit.CheckHostPort, nodefit.CheckVolumeLimit:
			set[model.Topic{Kind: model.TopicRoom}] = true
			if name := corev1.ResourceName(b.Detail); model.IsOfferable(name) {
				set[model.OfferOf(name)] = true
			}
		case nodefit.CheckPodAffinity, nodefit.CheckPodAnti, nodefit.CheckForbidden, nodefit.CheckSpread:
			set[model.Topic{Kind: model.TopicPods}] = true
		case nodefit.CheckClaimNode:
			set[model.Topic{Kind: model.TopicClaim, Key: b.Claim}] = true
		case nodefit.CheckVolume: // its zone labels may change
			set[model.Topic{Kind: model.TopicVolume, Key: model.Key{Name: b.Volume}}] = true
		case nodefit.CheckDevices:
			for _, topic := range b.Alloc.Topics() {
				set[topic] = true
			}
		}
	}
}
