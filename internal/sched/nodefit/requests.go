package nodefit

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
)

// Requests are the resources that a pod requests.
type Requests struct {
	list   []Request                         // by name
	common [len(model.CommonResources)]int64 // amounts of common resources
	others int                               // number of requests that are not common
}

// Request is the amount of one resource that a pod requests.
type Request struct {
	Name    corev1.ResourceName
	Amount  int64
	Offered bool // a DeviceClass offers it: on nodes that have none of it the pod gets devices instead
}

// byDevices reports whether devices take the place of the resource on the node.
func (r *Request) byDevices(info *model.NodeInfo) bool {
	return r.Offered && info.Node.Allocatable[r.Name] <= 0
}

func newRequests(state *model.State, shape *model.Shape) Requests {
	r := Requests{list: make([]Request, 0, len(shape.Requests)), others: len(shape.Requests)}
	for name, amount := range shape.Requests {
		offered := false
		if len(shape.ExtendedRequests) > 0 && model.IsOfferable(name) {
			_, offered = state.Classes.Offers(name)
		}
		r.list = append(r.list, Request{name, amount, offered})
		if at := slices.Index(model.CommonResources[:], name); at >= 0 {
			r.common[at] = amount
			r.others--
		}
	}
	slices.SortFunc(r.list, func(a, b Request) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// List returns the requests by name. Do not change it.
func (r *Requests) List() []Request { return r.list }

// check finds the first resource by name that the node has too little of.
func (r *Requests) check(info *model.NodeInfo) Failure {
	if r.others == 0 && r.fitsCommon(info) {
		return Failure{}
	}
	for i := range r.list {
		wanted := &r.list[i]
		if free := info.Free[wanted.Name]; free < wanted.Amount && !wanted.byDevices(info) {
			lacking := model.SubAmounts(wanted.Amount, free)
			return Failure{Check: CheckResource, Detail: string(wanted.Name), Lacking: lacking}
		}
	}
	return Failure{}
}

func (r *Requests) fitsCommon(info *model.NodeInfo) bool {
	for i, wanted := range r.common {
		if info.Spare[i] < wanted {
			return false
		}
	}
	return true
}

// Fits returns the number of such pods that the node's free resources suffice for.
func (r *Requests) Fits(info *model.NodeInfo) int {
	fits := int64(math.MaxInt32)
	for i := range r.list {
		if !r.list[i].byDevices(info) {
			fits = min(fits, max(0, info.Free[r.list[i].Name])/r.list[i].Amount)
		}
	}
	return int(fits)
}

// Free is the amount that a node has left of each requested resource, in the order of the requests.
type Free []int64

// unlimited is more than all pods of a node request.
const unlimited = math.MaxInt64 / 2

// FreeOf returns what the node has left.
func (r *Requests) FreeOf(info *model.NodeInfo) Free {
	free := make(Free, len(r.list))
	for i := range r.list {
		free[i] = info.Free[r.list[i].Name]
		if r.list[i].byDevices(info) {
			free[i] = unlimited
		}
	}
	return free
}

// FitsInto returns the number of such pods that the amounts suffice for.
func (r *Requests) FitsInto(free Free) int {
	fits := int64(math.MaxInt32)
	for i := range r.list {
		fits = min(fits, max(0, free[i])/r.list[i].Amount)
	}
	return int(fits)
}

// Add adds what a pod on the node takes.
func (r *Requests) Add(free Free, pod *model.Pod) { r.change(free, pod, model.AddAmounts) }

// Subtract takes off what a pod on the node takes.
func (r *Requests) Subtract(free Free, pod *model.Pod) { r.change(free, pod, model.SubAmounts) }

func (r *Requests) change(free Free, pod *model.Pod, by func(a, b int64) int64) {
	var drawn model.Resources
	if len(pod.Draws) > 0 {
		drawn = pod.Shape.DrawnBeyondBudgets(pod.Draws)
	}
	for i := range r.list {
		name := r.list[i].Name
		free[i] = by(free[i], model.AddAmounts(pod.Shape.Requests[name], drawn[name]))
	}
}

// FitsWithoutLower reports whether the requests could fit if all pods of lower priority terminated.
// The priority of a group counts for its pods and is not looked up: such pods are taken for lower
// ones.
func (r *Requests) FitsWithoutLower(info *model.NodeInfo, priority int32) bool {
	free := r.FreeOf(info)
	for _, pod := range info.Pods {
		if pod.Group != "" || pod.Priority < priority {
			r.Add(free, pod)
		}
	}
	for i := range r.list {
		if free[i] < r.list[i].Amount {
			return false
		}
	}
	return true
}
