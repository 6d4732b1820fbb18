package alloc

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/model"
)

// choice writes down what the search has picked.
func (b *Board) choice(s *search) Choice {
	choice := make(Choice, len(b.problem.claims))
	selectors := make([]nodeSelector, len(choice))
	for c := range choice {
		choice[c] = &model.Allocation{}
	}
	for number, i := range s.byNumber() {
		slot := s.slots[i]
		want := &b.problem.wants[slot.want]
		option := &want.options[s.chosen[slot.want]]
		cell := &b.cells[s.picks[i].cell]
		view := &b.views[cell.view]
		device := &view.Devices[s.picks[i].device]
		result := resourcev1.DeviceRequestAllocationResult{
			Request:            option.name,
			Driver:             view.ID.Driver,
			Pool:               view.ID.Pool,
			Device:             device.Name,
			Tolerations:        option.asked.Tolerations,
			SkipNodeOperations: device.SkipNodeOperations,

			BindingConditions:        device.BindingConditions,
			BindingFailureConditions: device.BindingFailureConditions,
		}
		if option.asked.AdminAccess {
			result.AdminAccess = &option.asked.AdminAccess
		}
		if cell.share != nil {
			result.ConsumedCapacity = cell.share.takes[option.selection]
			result.ShareID = shareID(b.problem.claims[want.claim], number, view.DeviceID(s.picks[i].device))
		}
		choice[want.claim].Devices = append(choice[want.claim].Devices, result)
		selectors[want.claim].add(device)
	}
	for c := range choice {
		choice[c].Config = s.config(c)
		choice[c].NodeSelector = selectors[c].on(b.node.Name)
	}
	return choice
}

// byNumber returns the slots in the order of the wants.
func (s *search) byNumber() []int {
	order := make([]int, len(s.slots))
	for i := range s.slots {
		order[s.slots[i].number] = i
	}
	return order
}

// nodeSelector gathers where all of a claim's devices can be used.
type nodeSelector struct {
	oneNode     bool
	fields      []corev1.NodeSelectorRequirement
	expressions []corev1.NodeSelectorRequirement
}

func (n *nodeSelector) add(device *model.Device) {
	switch {
	case device.Scope.Node != "" || device.BindsToNode:
		n.oneNode = true
	case device.Scope.Selector != nil:
		// The API allows exactly one term here, so that terms can be joined.
		for i := range device.Scope.Selector.NodeSelectorTerms {
			term := &device.Scope.Selector.NodeSelectorTerms[i]
			n.fields = addRequirements(n.fields, term.MatchFields)
			n.expressions = addRequirements(n.expressions, term.MatchExpressions)
		}
	}
}

func addRequirements(to, from []corev1.NodeSelectorRequirement) []corev1.NodeSelectorRequirement {
	for _, requirement := range from {
		same := func(other corev1.NodeSelectorRequirement) bool {
			return other.Key == requirement.Key && other.Operator == requirement.Operator && slices.Equal(other.Values, requirement.Values)
		}
		if !slices.ContainsFunc(to, same) {
			to = append(to, requirement)
		}
	}
	return to
}

// on is the selector for an allocation that was made for the node; nil for any node.
func (n *nodeSelector) on(node string) *corev1.NodeSelector {
	term := corev1.NodeSelectorTerm{MatchFields: n.fields, MatchExpressions: n.expressions}
	if n.oneNode {
		return tieTo(node)
	}
	if len(term.MatchFields) == 0 && len(term.MatchExpressions) == 0 {
		return nil
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
}

// tieTo is the selector of one node.
func tieTo(node string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{
		Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
	}}}}}
}

// tiedTo is the node that tieTo made the selector for.
func tiedTo(selector *corev1.NodeSelector) (string, bool) {
	if selector == nil || len(selector.NodeSelectorTerms[0].MatchFields) == 0 {
		return "", false
	}
	field := &selector.NodeSelectorTerms[0].MatchFields[0]
	return field.Values[0], field.Key == metav1.ObjectNameField
}
