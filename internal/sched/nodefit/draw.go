package nodefit

import (
	"maps"
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// CheckDraws checks what a pod draws from a node's resources through its claims, in addition to its
// requests.
func CheckDraws(shape *model.Shape, draws []model.Draw, info *model.NodeInfo) Failure {
	if failure := checkDrawBudgets(shape, draws); failure.Failed() {
		return failure
	}
	return checkDrawn(info, shape.Requests, shape.DrawnBeyondBudgets(draws))
}

// checkDrawBudgets finds the first resource by name of which the draws are more than the pod-level
// request leaves for them.
func checkDrawBudgets(shape *model.Shape, draws []model.Draw) Failure {
	if len(shape.DrawBudgets) == 0 || len(draws) == 0 {
		return Failure{}
	}
	drawn := model.Drawn(draws)
	for _, name := range slices.Sorted(maps.Keys(shape.DrawBudgets)) {
		if lacking := model.SubAmounts(drawn[name], shape.DrawBudgets[name]); lacking > 0 {
			return Failure{Check: CheckDrawBudget, Detail: string(name), Lacking: lacking}
		}
	}
	return Failure{}
}

// checkDrawn finds the first resource by name of which the node has too little for what is
// requested and drawn.
func checkDrawn(info *model.NodeInfo, requests, drawn model.Resources) Failure {
	var first Failure
	for name, amount := range drawn {
		lacking := model.SubAmounts(model.AddAmounts(requests[name], amount), info.Free[name])
		if lacking > 0 && (!first.Failed() || string(name) < first.Detail) {
			first = Failure{Check: CheckResource, Detail: string(name), Lacking: lacking}
		}
	}
	return first
}
