package tree

import (
	"fmt"
	"strings"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/placement"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// Placement is one attempt to place a tree of groups.
type Placement struct {
	input
	stepsLeft  int // steps of the search
	stepsSpent int // steps of all attempts to place blocks, also of what placing them costs without a search
	// joint means that domains are chosen first, and all pods are placed together when all have
	// theirs: what is tried if placing one block after the other does not succeed.
	joint     bool
	parts     []placement.Part // of the blocks, if joint
	domain    string           // describes the domain in which blocks are placed
	tried     bool             // pods were placed, or could not be
	undecided bool             // steps were missing in some part of the search
	plans     []*plan.Plan     // plans of the blocks that have places now
	placed    int              // pods of these
	result    *plan.Plan
	failure   failure
	likeness  likeness
}

// input is the input of a placement.
type input struct {
	caches  *placement.Caches
	tx      *model.Tx
	state   *model.State
	unit    *model.Unit
	options placement.Options
}

// failure is why the attempt that placed the most pods did not place more.
type failure struct {
	text    string
	placed  int
	reasons *reason.Reasons // reasons of the block, or nil
	known   bool
}

// New returns a Placement within a transaction.
func New(
	caches *placement.Caches,
	tx *model.Tx,
	state *model.State,
	unit *model.Unit,
	options placement.Options,
) *Placement {
	return &Placement{
		input: input{caches: caches, tx: tx, state: state, unit: unit, options: options}, stepsLeft: options.Steps,
		likeness: newLikeness(state),
	}
}

// Run returns a Plan for the tree, or Reasons why there is none. The State is then as before.
func (p *Placement) Run() (*plan.Plan, *reason.Reasons) {
	root := p.unit.Tree
	if !root.CanBePlaced() {
		return nil, p.reasons(reason.Waiting, strings.Join(root.Problems(), "; "))
	}
	nodes, conflict := Within(p.state, p.unit)
	if conflict != "" {
		return nil, p.reasons(reason.Unschedulable, conflict)
	}
	nodes = Common(nodes, p.options.Only)
	start := p.tx.Mark()
	found := p.place(root, nodes, run{}, func(run) bool {
		p.result = p.merged()
		return true
	})
	p.tx.UndoTo(start)
	if !found && p.tried && !isBlock(root) { // what counting excludes is excluded for all pods together, too
		p.plans, p.placed, p.joint = nil, 0, true
		p.place(root, nodes, run{}, func(run) bool { return p.placeTogether() })
	}
	if p.result != nil {
		return p.result, nil
	}
	return nil, p.failed()
}

// placeTogether places the pods of all blocks, each on the nodes that were chosen for it.
func (p *Placement) placeTogether() bool {
	unit, options := *p.unit, p.options
	unit.Pods, options.Steps, options.Parts = nil, p.stepsLeft, p.parts
	for _, part := range p.parts {
		unit.Pods = append(unit.Pods, part.Pods...)
	}
	unit.Min = max(1, len(unit.Pods))
	attempt := placement.New(p.caches, p.tx, &unit, options)
	made, reasons := attempt.Run()
	p.charge(attempt)
	if made == nil {
		p.undecided = p.undecided || reasons.Code == reason.Undecided
		return false
	}
	p.plans = []*plan.Plan{made}
	p.result = p.merged()
	return true
}

// charge subtracts what an attempt has searched from the steps that are left.
func (p *Placement) charge(attempt *placement.Placement) {
	p.stepsLeft -= 1 + attempt.Searched()
	p.stepsSpent += 1 + attempt.Spent()
}

// Spent returns how many steps were spent.
func (p *Placement) Spent() int { return p.stepsSpent + max(0, p.options.Steps-p.stepsLeft) }

// Common returns the nodes that are in both lists, each of which may be nil for all nodes.
func Common(a, b []*model.NodeInfo) []*model.NodeInfo {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	in := make(map[*model.NodeInfo]bool, len(a))
	for _, info := range a {
		in[info] = true
	}
	common := []*model.NodeInfo{}
	for _, info := range b {
		if in[info] {
			common = append(common, info)
		}
	}
	return common
}

// Within returns the nodes to which a unit is restricted by pods of its tree that are bound, nil if
// it is not; or why they have no common domain.
func Within(state *model.State, unit *model.Unit) (nodes []*model.NodeInfo, conflict string) {
	for _, pin := range state.PinsAbove(unit) {
		if pin.Conflict != "" {
			return nil, pin.Conflict
		}
		nodes = inDomain(state, nodes, pin.Label, pin.Value)
	}
	return nodes, ""
}

// inDomain returns those of the nodes, nil for all, that have a value of a label.
func inDomain(state *model.State, nodes []*model.NodeInfo, label, value string) []*model.NodeInfo {
	if nodes == nil {
		nodes = state.Nodes.List()
	}
	in := []*model.NodeInfo{}
	for _, info := range nodes {
		if have, ok := info.Node.Labels[label]; ok && have == value {
			in = append(in, info)
		}
	}
	return in
}

// Conflicting returns the Reasons of a unit whose tree has bound pods without a common domain.
func Conflicting(unit *model.Unit, conflict string) *reason.Reasons {
	return &reason.Reasons{
		Unit: unit.Key, Min: unit.Min, Code: reason.Unschedulable, Attempt: reason.Attempt{Tree: conflict},
	}
}

// reasons returns Reasons with the changes of the tree itself that can help.
func (p *Placement) reasons(code reason.Code, text string) *reason.Reasons {
	r := &reason.Reasons{
		Unit: p.unit.Key, Min: p.unit.Min, Code: code, Attempt: reason.Attempt{Tree: text, Limit: p.options.Steps},
	}
	p.addTopics(r)
	return r
}

func (p *Placement) addTopics(r *reason.Reasons) {
	for c := range p.unit.Tree.Composites {
		r.Further = append(r.Further, model.Topic{Kind: model.TopicTree, Key: c.Key})
	}
	for leaf := range p.unit.Tree.Leaves {
		r.Further = append(
			r.Further,
			model.Topic{Kind: model.TopicGroup, Key: leaf.Key()},
			model.Topic{Kind: model.TopicMembers, Key: leaf.Key()},
		)
	}
}

// failed returns why nothing was placed: the best attempt, and the group that found no place in it.
func (p *Placement) failed() *reason.Reasons {
	r := &reason.Reasons{}
	if p.failure.reasons != nil {
		copied := *p.failure.reasons
		r = &copied
	}
	text := p.failure.text
	if p.failure.placed > 0 {
		text = fmt.Sprintf("with %d other pods placed, %s", p.failure.placed, text)
	}
	r.Unit, r.Attempt = p.unit.Key, reason.Attempt{Tree: text, Limit: p.options.Steps}
	switch {
	case p.undecided || p.stepsLeft <= 0:
		r.Code, r.Steps = reason.Undecided, p.options.Steps-max(0, p.stepsLeft)
		r.Unfinished = p.options.Steps < p.options.MaxSteps
	default:
		r.Code = reason.Unschedulable
	}
	p.addTopics(r)
	// Where the other groups are decides what helps this one.
	r.Shapes, r.LacksDevices = nil, false
	r.Further = append(r.Further, model.Topic{Kind: model.TopicNodes}, model.Topic{Kind: model.TopicRoom},
		model.Topic{Kind: model.TopicDevices}, model.Topic{Kind: model.TopicPods})
	return r
}

// note keeps why a group was not placed if more pods have places than at any earlier failure.
func (p *Placement) note(t *model.Tree, text string, reasons *reason.Reasons) {
	if p.failure.known && p.failure.placed >= p.placed {
		return
	}
	kind := "CompositePodGroup"
	if t.Group != nil {
		kind = "PodGroup"
	}
	p.failure = failure{
		known:   true,
		placed:  p.placed,
		reasons: reasons,
		text:    fmt.Sprintf("%s %s %s", kind, t.Key(), text),
	}
}

// merged returns one plan for all blocks.
func (p *Placement) merged() *plan.Plan {
	out := plan.Joined(p.unit.Key, p.plans)
	out.Whole = len(out.Pods) == len(p.unit.Pods)
	return out
}
