package alloc

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/model"
)

// choice returns the allocations for the assignments of the search.
func (offer *NodeOffer) choice(s *search) Choice {
	choice := make(Choice, len(offer.problem.claims))
	selectors := make([]nodeSelector, len(choice))
	for c := range choice {
		choice[c] = &model.Allocation{}
	}
	for number, i := range s.byNumber() {
		slot := s.slots[i]
		request := &offer.problem.requests[slot.request]
		alternative := &request.alternatives[s.chosen[slot.request]]
		cell := &offer.cells[s.assignments[i].cell]
		view := &offer.views[cell.view]
		device := &view.Devices[s.assignments[i].device]
		result := resourcev1.DeviceRequestAllocationResult{
			Request:            alternative.resultName,
			Driver:             view.ID.Driver,
			Pool:               view.ID.Pool,
			Device:             device.Name,
			Tolerations:        alternative.spec.Tolerations,
			SkipNodeOperations: device.SkipNodeOperations,

			BindingConditions:        device.BindingConditions,
			BindingFailureConditions: device.BindingFailureConditions,
		}
		if alternative.spec.AdminAccess {
			result.AdminAccess = &alternative.spec.AdminAccess
		}
		if cell.shared != nil {
			result.ConsumedCapacity = cell.shared.consumes[alternative.selection]
			result.ShareID = shareID(offer.problem.claims[request.claim], number, view.DeviceID(s.assignments[i].device))
		}
		choice[request.claim].Devices = append(choice[request.claim].Devices, result)
		selectors[request.claim].add(device)
	}
	for c := range choice {
		choice[c].Config = s.config(c)
		choice[c].NodeSelector = selectors[c].forNode(offer.node.Name)
	}
	return choice
}

// byNumber returns the indices of slots in the order of requests.
func (s *search) byNumber() []int {
	order := make([]int, len(s.slots))
	for i := range s.slots {
		order[s.slots[i].number] = i
	}
	return order
}

// nodeSelector collects the nodes from which all devices of a claim can be used.
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
		// The API permits exactly one term here, so that the requirements can be merged.
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
			return other.Key == requirement.Key && other.Operator == requirement.Operator &&
				slices.Equal(other.Values, requirement.Values)
		}
		if !slices.ContainsFunc(to, same) {
			to = append(to, requirement)
		}
	}
	return to
}

// forNode returns the node selector of an allocation made for the node; nil means any node.
func (n *nodeSelector) forNode(node string) *corev1.NodeSelector {
	term := corev1.NodeSelectorTerm{MatchFields: n.fields, MatchExpressions: n.expressions}
	if n.oneNode {
		return selectNode(node)
	}
	if len(term.MatchFields) == 0 && len(term.MatchExpressions) == 0 {
		return nil
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
}

// selectNode returns the selector for one node.
func selectNode(node string) *corev1.NodeSelector {
	return &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
		}}}},
	}
}

// selectedNode returns the node of a selector created by selectNode.
func selectedNode(selector *corev1.NodeSelector) (string, bool) {
	if selector == nil || len(selector.NodeSelectorTerms[0].MatchFields) == 0 {
		return "", false
	}
	field := &selector.NodeSelectorTerms[0].MatchFields[0]
	return field.Values[0], field.Key == metav1.ObjectNameField
}
