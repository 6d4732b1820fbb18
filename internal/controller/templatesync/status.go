package templatesync

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

// Reasons of conditions and events.
const (
	reasonInStep      = "InStep"
	reasonProgressing = "Progressing"
	reasonConflict    = "Conflict"
	reasonRefused     = "Refused"
	reasonFailed      = "Failed"
	reasonInvalid     = "Invalid"
)

// namespaceStanding is a standing with its namespace.
type namespaceStanding struct {
	namespace string
	Standing
}

// tally counts standings.
type tally struct {
	desired, inStep, present int
	byState                  map[State][]namespaceStanding // sorted by namespace
	waiting                  []namespaceStanding           // pending because of another object
}

func tallyOf(all []namespaceStanding) tally {
	t := tally{desired: len(all), byState: map[State][]namespaceStanding{}}
	slices.SortFunc(all, func(a, b namespaceStanding) int { return strings.Compare(a.namespace, b.namespace) })
	for _, l := range all {
		t.byState[l.State] = append(t.byState[l.State], l)
		if l.State == Pending && l.Why != "" {
			t.waiting = append(t.waiting, l)
		}
		if l.Present {
			t.present++
		}
	}
	t.inStep = len(t.byState[InStep])
	return t
}

// statusOf returns the status of an original with these standings in all selected namespaces. A
// condition that changes has the time now.
func statusOf(o *Original, all []namespaceStanding, now metav1.Time) allotv1alpha1.ClusterResourceClaimTemplateStatus {
	t := tallyOf(all)
	status := allotv1alpha1.ClusterResourceClaimTemplateStatus{
		ObservedGeneration: o.Generation,
		Wanted:             int32(t.desired),
		InStep:             int32(t.inStep),
		Conflicting:        int32(len(t.byState[Conflict])),
		Conditions:         slices.Clone(o.Status.Conditions),
	}
	for _, l := range t.byState[Conflict][:min(len(t.byState[Conflict]), allotv1alpha1.MaxConflicts)] {
		status.Conflicts = append(status.Conflicts, allotv1alpha1.NameConflict{Namespace: l.namespace, Holder: l.Why})
	}
	reason, message := verdictOn(o, t)
	set := func(kind string, holds bool, reason, message string) {
		c := metav1.Condition{
			Type:               kind,
			Status:             metav1.ConditionFalse,
			ObservedGeneration: o.Generation,
			Reason:             reason,
			Message:            message,
			LastTransitionTime: now,
		}
		if holds {
			c.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, c)
	}
	set(allotv1alpha1.ConditionInSync, reason == reasonInStep, reason, message)
	if o.Problem == "" && t.present == t.desired {
		set(allotv1alpha1.ConditionReady, true, reasonInStep, "each selected namespace has a copy")
	} else {
		set(allotv1alpha1.ConditionReady, false, reason, message)
	}
	return status
}

// verdictOn returns the reason of InSync: the one that most needs action by a person.
func verdictOn(o *Original, t tally) (reason, message string) {
	switch {
	case o.Problem != "":
		return reasonInvalid, o.Problem
	case len(t.byState[Conflict]) > 0:
		return reasonConflict, "the name " + o.CopyName + " is taken in " + places(t.byState[Conflict])
	case len(t.byState[Refused]) > 0:
		return reasonRefused, "the server refuses the content in " + places(t.byState[Refused])
	case len(t.byState[Failed]) > 0:
		return reasonFailed, "still trying in " + places(t.byState[Failed])
	case len(t.waiting) > 0:
		return reasonProgressing, "waiting in " + places(t.waiting)
	case t.inStep < t.desired:
		return reasonProgressing, "copies are being made or replaced"
	}
	return reasonInStep, "each selected namespace has a copy of the present content"
}

// places names some namespaces, with the reason in the first one.
func places(list []namespaceStanding) string {
	const few = 3
	var names []string
	for _, l := range list[:min(len(list), few)] {
		names = append(names, l.namespace)
	}
	text := strings.Join(names, ", ")
	if more := len(list) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ": " + list[0].Why
}
