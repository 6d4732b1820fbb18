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
	if failure := checkDrawLimits(shape, draws); failure.Failed() {
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

// checkDrawLimits finds the first pod-level limit that the draws exceed.
func checkDrawLimits(shape *model.Shape, draws []model.Draw) Failure {
	if len(draws) == 0 {
		return Failure{}
	}
	for i := range shape.DrawLimits {
		limit := &shape.DrawLimits[i]
		if lacking := limit.Exceeded(draws); lacking > 0 {
			return Failure{Check: CheckDrawLimit, Detail: detailOfLimit(limit), Lacking: lacking}
		}
	}
	return Failure{}
}

// detailOfLimit returns what the limit is for and does not cover, in the words of kube-scheduler.
func detailOfLimit(limit *model.DrawLimit) string {
	if limit.Container == "" {
		return string(limit.Resource) + " is insufficient to cover the aggregated container and node-allocatable DRA limits"
	}
	return string(limit.Resource) + " is insufficient to cover the limit and DRA overhead for container " + limit.Container
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
