package sched

import (
	"math"

	"github.com/allot-dev/allot/internal/model"
)

// Helps says whether something that happened can change the answer, as far as a glance tells. A node with new room
// helps only if it takes a pod of the unit by itself; without this, each pod that ends would have every group tried that waits for room
// anywhere.
func (r *Reasons) Helps(state *model.State, topic model.Topic) bool {
	if topic.Kind != model.TopicRoom || topic.Key.Name == "" || len(r.shapes) == 0 {
		return true
	}
	info, ok := state.Node(topic.Key.Name)
	if !ok {
		return false
	}
	for _, f := range r.shapes {
		if (f.fits(info) > 0 || r.room != nil && f.fitsWithout(info, r.room.Priority)) && f.static(info).check == "" {
			return true
		}
	}
	return false
}

// fitsWithout says whether the requests fit if all pods left that may be less important, as far as a glance tells.
func (f *fitter) fitsWithout(info *model.NodeInfo, priority int32) bool {
	free := f.freeOf(info)
	for _, pod := range info.Pods {
		if pod.Group != "" || pod.Priority < priority {
			f.addTo(free, pod)
		}
	}
	return !f.lacks(free)
}

// endless is more than all pods of a node ask for.
const endless = math.MaxInt64 / 2

// freeOf is what the node has left of what is asked for, in the order of the requests.
func (f *fitter) freeOf(info *model.NodeInfo) []int64 {
	free := make([]int64, len(f.requests))
	for i := range f.requests {
		free[i] = info.Free[f.requests[i].name]
		if f.requests[i].instead(info) {
			free[i] = endless
		}
	}
	return free
}

func (f *fitter) addTo(free []int64, pod *model.Pod) { f.change(free, pod, 1) }

// change adds what the pod takes to amounts as freeOf gives them, or takes it off with sign -1.
func (f *fitter) change(free []int64, pod *model.Pod, sign int64) {
	var drawn model.Resources
	if len(pod.Draws) > 0 {
		drawn = pod.Shape.DrawnBeyondBudgets(pod.Draws)
	}
	for i := range f.requests {
		taken := model.AddAmounts(pod.Shape.Requests[f.requests[i].name], drawn[f.requests[i].name])
		if sign > 0 {
			free[i] = model.AddAmounts(free[i], taken)
		} else {
			free[i] = model.SubAmounts(free[i], taken)
		}
	}
}

func (f *fitter) lacks(free []int64) bool {
	for i := range f.requests {
		if free[i] < f.requests[i].amount {
			return true
		}
	}
	return false
}
