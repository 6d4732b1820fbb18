package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/groups"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/preempt"
)

// treeStatus writes the conditions of CompositePodGroups. The loop finds out what they are, from the
// conditions of the groups below.
type treeStatus struct {
	composites cluster.Cache[*v1alpha3.CompositePodGroup] // nil if the feature is off
	write      compositeWriter
	clock      clock.PassiveClock
	queue      reconciler.Queue[model.Key]

	mu       sync.Mutex // guards the fields below
	outcomes map[model.Key]treeOutcome
	verdicts map[model.Key]groups.Outcome // verdicts on trees that were not placed
}

// treeOutcome is the outcome of one CompositePodGroup.
type treeOutcome struct {
	uid     string
	outcome groups.Outcome
	placed  bool // enough pods have nodes, and none is to be evicted
}

// compositeWriter writes the status of a CompositePodGroup. One that does not exist is not an error.
type compositeWriter interface {
	// ReadComposite returns the CompositePodGroup from the API, or nil if it does not exist.
	ReadComposite(ctx context.Context, key model.Key) (*v1alpha3.CompositePodGroup, error)
	WriteComposite(ctx context.Context, group *v1alpha3.CompositePodGroup) error
}

func newTreeStatus(p parts) *treeStatus {
	return &treeStatus{
		composites: p.caches.Composites, write: p.composites, clock: p.clock,
		outcomes: map[model.Key]treeOutcome{}, verdicts: map[model.Key]groups.Outcome{},
	}
}

// setVerdict records why a tree cannot be placed.
func (t *treeStatus) setVerdict(key model.Key, outcome groups.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.verdicts[key] = outcome
}

// clearVerdict removes the verdict on a tree that has been placed.
func (t *treeStatus) clearVerdict(key model.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.verdicts, key)
}

// observe finds out the outcomes of the CompositePodGroups that topics concern. It is called by the
// loop.
func (t *treeStatus) observe(state *model.State, topics []model.Topic) {
	if t.composites == nil {
		return
	}
	seen := map[model.Key]bool{}
	for _, topic := range topics {
		var keys []model.Key
		switch topic.Kind {
		case model.TopicGroup, model.TopicMembers:
			keys = state.Above(topic.Key)
		case model.TopicTree:
			keys = append([]model.Key{topic.Key}, state.TreesAbove(model.UnitKey{Tree: true, Key: topic.Key})...)
		}
		for _, key := range keys {
			if !seen[key] {
				seen[key] = true
				t.evaluate(state, key)
			}
		}
	}
}

// report finds out the outcomes of a tree about which something was recorded.
func (t *treeStatus) report(state *model.State, tree *model.Tree) {
	if t.composites == nil {
		return
	}
	for c := range tree.Composites {
		t.evaluate(state, c.Key)
	}
}

func (t *treeStatus) evaluate(state *model.State, key model.Key) {
	c, ok := state.Groups.Composites.Get(key)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !ok {
		delete(t.outcomes, key)
		delete(t.verdicts, key)
		return
	}
	tree := state.Tree(key)
	outcome := outcomeOf(tree)
	for _, above := range append([]model.Key{key}, state.TreesAbove(model.UnitKey{Tree: true, Key: key})...) {
		if verdict, ok := t.verdicts[above]; ok && !outcome.Scheduled {
			outcome = outcome.Because(verdict)
			break
		}
	}
	now := treeOutcome{uid: string(c.UID), outcome: outcome}
	if since, ok := t.disruptedSince(key); ok {
		leaves := func(pod *model.Pod) bool {
			return preempt.IsVictim(pod) || pod.Node != "" && pod.Created.Before(since)
		}
		members := state.Members(model.UnitKey{Tree: true, Key: key})
		now.placed = tree.IsPlaced() && !slices.ContainsFunc(members, leaves)
	}
	if t.outcomes[key] != now {
		t.outcomes[key] = now
		t.queue.AddAfter(key, settle)
	}
}

// disruptedSince returns since when the API shows that a CompositePodGroup was preempted. The State
// may be older than that: then it has the evicted pods on their nodes, and not as victims yet. They
// were created before.
func (t *treeStatus) disruptedSince(key model.Key) (since time.Time, ok bool) {
	group, ok := t.composites.Get(key.Namespace, key.Name)
	if !ok {
		return time.Time{}, false
	}
	c := meta.FindStatusCondition(group.Status.Conditions, schedulingv1alpha3.DisruptionTarget)
	if c == nil || c.Status != metav1.ConditionTrue {
		return time.Time{}, false
	}
	return c.LastTransitionTime.Time, true
}

// outcomeOf returns the outcome of a CompositePodGroup by the conditions of its children: what the
// API shows, not what is assumed.
func outcomeOf(t *model.Tree) groups.Outcome {
	scheduled := 0
	var lacking []string
	for _, child := range t.Children {
		switch {
		case isScheduled(child):
			scheduled++
		case child.Problem != "":
			lacking = append(lacking, child.Problem)
		case child.Group != nil:
			lacking = append(lacking, "PodGroup "+child.Key().Name+" is not scheduled")
		default:
			lacking = append(lacking, "CompositePodGroup "+child.Key().Name+" is not scheduled")
		}
	}
	message := fmt.Sprintf("%d of %d groups are scheduled", scheduled, t.Min())
	if scheduled > t.Min() {
		message = fmt.Sprintf("%d groups are scheduled (minGroupCount %d)", scheduled, t.Min())
	}
	if scheduled >= t.Min() {
		return groups.Scheduled(message)
	}
	slices.Sort(lacking)
	if more := len(lacking) - namedChildren; more > 0 {
		lacking = append(lacking[:namedChildren], fmt.Sprintf("%d more", more))
	}
	if len(lacking) > 0 {
		message += " (" + strings.Join(lacking, "; ") + ")"
	}
	return groups.Unschedulable(message)
}

// namedChildren is how many children a condition names.
const namedChildren = 3

// isScheduled reports whether the API shows that a group was scheduled.
func isScheduled(t *model.Tree) bool {
	if t.Group != nil {
		return t.Group.Scheduled
	}
	if t.Composite.Scheduled {
		return true
	}
	n := 0
	for _, child := range t.Children {
		if isScheduled(child) {
			n++
		}
	}
	return n >= t.Min()
}

// reconcile writes the conditions of a CompositePodGroup, if they must change.
func (t *treeStatus) reconcile(ctx context.Context, key model.Key) error {
	t.mu.Lock()
	last, known := t.outcomes[key]
	t.mu.Unlock()
	group, ok := t.composites.Get(key.Namespace, key.Name)
	if !ok || !known || string(group.UID) != last.uid {
		return nil
	}
	conditions, changed := groups.TreeConditions(group, last.outcome, last.placed, metav1.NewTime(t.clock.Now()))
	if !changed {
		return nil
	}
	written := group.DeepCopy()
	written.Status.Conditions = conditions
	return t.write.WriteComposite(ctx, written)
}
