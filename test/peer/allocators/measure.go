package allocators

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// Row is the cost of one case on both sides.
type Row struct {
	Case           Case
	Here, Upstream Cost
}

// Cost is the CPU time of one attempt, including garbage collection, and its result. Unlike wall
// time, it does not depend on other load, except through caches.
type Cost struct {
	Time    time.Duration
	Yes     bool
	Stopped bool // by the timeout, so that Time is too low
	Err     error
}

// Options configures measurements.
type Options struct {
	Features structured.Features
	Timeout  time.Duration // of upstream, for one node
	Rounds   int           // alternating; the best counts
	AtLeast  time.Duration // minimum duration of a round
}

// Measure times both sides alternately. Cached state is present and warm, unless the case is cold.
func Measure(c Case, o Options) Row {
	w := c.Build()
	here, upstream := opHere(c, w), opUpstream(c, w, o)
	row := Row{Case: c}
	for range o.Rounds {
		if cost := measure(here, o.AtLeast); row.Here.Time == 0 || cost.Time < row.Here.Time {
			row.Here = cost
		}
		if row.Upstream.Time > time.Second {
			continue // once is sufficient
		}
		if cost := measure(upstream, o.AtLeast); row.Upstream.Time == 0 || cost.Time < row.Upstream.Time {
			row.Upstream = cost
		}
	}
	return row
}

// measure repeats an attempt for some time. The first attempt is not counted if there is time for
// others.
func measure(op func(number int) Cost, atLeast time.Duration) Cost {
	runtime.GC()
	cost := timed(op, 0)
	n := int(atLeast / max(1, cost.Time))
	if n == 0 {
		return cost
	}
	start := used()
	for i := range n {
		op(1 + i)
	}
	cost.Time = (used() - start) / time.Duration(n)
	return cost
}

func timed(op func(int) Cost, number int) Cost {
	start := used()
	cost := op(number)
	cost.Time = used() - start
	return cost
}

// used returns the CPU time of this process so far.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // fails only for invalid arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// opUpstream does what kube-scheduler does for one pod, without reading the claims: begin, and one
// Allocate per node.
func opUpstream(c Case, w *World, o Options) func(int) Cost {
	read := func() *Upstream {
		u := NewUpstream(w, o.Features)
		u.Timeout = o.Timeout
		return u
	}
	u := read()
	return func(number int) Cost {
		if c.Changes > 0 {
			w.change(c.Changes, number)
		}
		if c.Cold {
			u = read()
		}
		return u.attempt(c, w)
	}
}

func (u *Upstream) attempt(c Case, w *World) Cost {
	ctx := context.Background()
	allocator, err := u.Begin(ctx)
	if err != nil {
		return Cost{Err: err}
	}
	nodes, fit := w.Nodes, 0
	if !c.Sweep {
		nodes = nodes[:1]
	}
	for _, node := range nodes {
		results, err := u.On(ctx, allocator, node, w.Claims)
		if errors.Is(err, context.DeadlineExceeded) {
			return Cost{Stopped: true}
		}
		if err != nil {
			return Cost{Err: err}
		}
		if results != nil {
			fit++
		}
		if c.Enough > 0 && fit == c.Enough {
			break
		}
	}
	return Cost{Yes: fit > 0}
}

// opHere does what allot's scheduler does for one pod, without reading the claims: prepare, count
// the devices of each node, and search on the node with the fewest.
func opHere(c Case, w *World) func(int) Cost {
	h, claims := NewHere(w), Claims(w)
	return func(number int) Cost {
		if c.Changes > 0 {
			h.State.Devices.PutSlice(model.SliceFrom(w.change(c.Changes, number)))
		}
		if c.Cold {
			h = NewHere(w)
		}
		return h.attempt(c, w, claims)
	}
}

func (h *Here) attempt(c Case, w *World, claims []*model.Claim) Cost {
	problem, reason := h.Allocator.Prepare(h.State, claims, false)
	if reason != nil {
		return Cost{Err: errors.New(reason.String())}
	}
	node, _ := h.State.Nodes.Get(w.Nodes[0].Name)
	if c.Sweep {
		node = h.fullest(problem)
	}
	if node == nil {
		return Cost{}
	}
	answer := h.On(problem, node, steps)
	if answer.Undecided {
		return Cost{Err: fmt.Errorf("undecided after %d steps", steps)}
	}
	return Cost{Yes: answer.Choice != nil}
}

// fullest returns the node with the fewest sufficient devices, or nil.
func (h *Here) fullest(problem *alloc.Problem) *model.NodeInfo {
	var best *model.NodeInfo
	least := 0
	for _, info := range h.State.Nodes.List() {
		if free, availability := problem.FreeDevices(info); availability == alloc.Sufficient &&
			(best == nil || free < least) {
			best, least = info, free
		}
	}
	return best
}
