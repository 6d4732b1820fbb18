package allocators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// Outcome is the result of the comparison for one world.
type Outcome string

// The outcomes.
const (
	BothYes      Outcome = "both allocate"
	BothNo       Outcome = "both refuse"
	OnlyHere     Outcome = "only here"
	OnlyUpstream Outcome = "only upstream"
	Refused      Outcome = "upstream refuses ours" // both allocate, but upstream would not accept allot's result
	Other        Outcome = "other alternative"     // both allocate, but with different alternatives
	// both allocate, with the same alternatives, but different configuration for drivers
	OtherConfig Outcome = "other configuration"
	Error       Outcome = "upstream error"
	TooLong     Outcome = "upstream too long"
	Undecided   Outcome = "undecided here"
)

// Outcomes lists all outcomes, in the order in which they are printed.
var Outcomes = []Outcome{
	BothYes,
	BothNo,
	OnlyHere,
	OnlyUpstream,
	Refused,
	Other,
	OtherConfig,
	Error,
	TooLong,
	Undecided,
}

// steps is the search budget here; a scheduler has a larger one for a pod.
const steps = 100_000

// Comparison is the outcome for one world.
type Comparison struct {
	Outcome Outcome
	Why     string // the intended difference that explains it; "" if none does
	Detail  string

	earlier bool // for Other: allot's result prefers earlier alternatives
}

// Unexplained reports whether the results differ without a known reason.
func (c Comparison) Unexplained() bool {
	switch c.Outcome {
	case BothYes, BothNo, TooLong:
		return false
	}
	return c.Why == ""
}

// Compare runs both allocators for the first node of a world.
func Compare(w *World, timeout time.Duration) Comparison {
	ctx := context.Background()
	upstream := NewUpstream(w, EveryFeature)
	upstream.Timeout = timeout
	theirs, err := upstream.ask(ctx, w)
	if errors.Is(err, context.DeadlineExceeded) {
		return Comparison{Outcome: TooLong}
	}
	ours := ask(w)
	c := Comparison{Detail: describe(ours, theirs, err)}
	switch {
	case ours.Undecided:
		c.Outcome = Undecided
	case err != nil && !errors.Is(err, structured.ErrFailedAllocationOnNode):
		c.Outcome = Error
	case ours.Choice == nil && theirs == nil:
		c.Outcome = BothNo
	case ours.Choice == nil:
		c.Outcome = OnlyUpstream
	case theirs == nil:
		c.Outcome = OnlyHere
	default:
		c.Outcome = BothYes
		if order := slices.Compare(w.chosen(ours.results()), w.chosen(theirs)); order != 0 {
			c.Outcome, c.earlier = Other, order < 0
		} else if !sameConfigs(ours.results(), theirs) {
			c.Outcome = OtherConfig
		}
	}
	if c.Outcome == BothYes || c.Outcome == Other || c.Outcome == OtherConfig {
		if err := w.accepts(ours.results()); err != nil {
			c.Outcome, c.Detail = Refused, err.Error()+"; "+c.Detail
		}
	}
	c.Why = explain(w, c)
	return c
}

// sameConfigs reports whether drivers get the same configuration, in the same order.
func sameConfigs(ours, theirs []resourcev1.AllocationResult) bool {
	return slices.EqualFunc(ours, theirs, func(a, b resourcev1.AllocationResult) bool {
		return equality.Semantic.DeepEqual(a.Devices.Config, b.Devices.Config)
	})
}

// ask returns upstream's result for the first node.
func (u *Upstream) ask(ctx context.Context, w *World) ([]resourcev1.AllocationResult, error) {
	allocator, err := u.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return u.On(ctx, allocator, w.Nodes[0], w.Claims)
}

// ask returns allot's result for the first node.
func ask(w *World) Answer {
	h := NewHere(w)
	problem, reason := h.Allocator.Prepare(h.State, Claims(w), false)
	if reason != nil {
		return Answer{Reason: reason}
	}
	node, _ := h.State.Nodes.Get(w.Nodes[0].Name)
	return h.On(problem, node, steps)
}

func (a Answer) results() []resourcev1.AllocationResult {
	list := make([]resourcev1.AllocationResult, len(a.Choice))
	for i := range a.Choice {
		list[i] = a.Choice[i].Result().AllocationResult
	}
	return list
}

func describe(ours Answer, theirs []resourcev1.AllocationResult, err error) string {
	here := alloc.Choice.Key(ours.Choice)
	if ours.Choice == nil {
		here = fmt.Sprint(ours.Reason)
	}
	upstream := "cannot allocate all claims"
	if err != nil {
		upstream = err.Error()
	} else if theirs != nil {
		upstream = devicesOf(theirs)
	}
	return fmt.Sprintf("here: %s; upstream: %s", here, upstream)
}

func devicesOf(results []resourcev1.AllocationResult) string {
	var b strings.Builder
	for _, result := range results {
		for _, device := range result.Devices.Results {
			b.WriteString(model.DeviceIDOf(device).String() + " ")
		}
		b.WriteByte(';')
	}
	return b.String()
}

// chosen returns the alternatives chosen for requests, by number. Earlier ones are better, and an
// earlier request has precedence.
func (w *World) chosen(results []resourcev1.AllocationResult) []int {
	var list []int
	for i, claim := range w.Claims {
		for _, request := range claim.Spec.Devices.Requests {
			list = append(list, slices.IndexFunc(request.FirstAvailable, func(o resourcev1.DeviceSubRequest) bool {
				return slices.ContainsFunc(results[i].Devices.Results, func(result resourcev1.DeviceRequestAllocationResult) bool {
					return result.Request == request.Name+"/"+o.Name
				})
			}))
		}
	}
	return list
}

// accepts returns an error unless upstream could have allocated these devices: for the same claims,
// with only the chosen alternatives, and selectors that match no other device.
func (w *World) accepts(results []resourcev1.AllocationResult) error {
	pinned := *w
	pinned.Claims = nil
	for i, result := range results {
		ids := map[string][]string{}
		for _, device := range result.Devices.Results {
			published, _ := w.device(device.Driver, device.Pool, device.Device)
			if published == nil {
				return fmt.Errorf("%s is not published", device.Device)
			}
			ids[device.Request] = append(ids[device.Request], fmt.Sprint(*published.Attributes["allot.dev/id"].IntValue))
		}
		pinned.Claims = append(pinned.Claims, pin(w.Claims[i], ids))
	}
	accepted, err := NewUpstream(&pinned, EveryFeature).ask(context.Background(), &pinned)
	if err != nil {
		return err
	}
	if accepted == nil {
		return errors.New("upstream has no such allocation")
	}
	return nil
}

// pin returns the claim with only the alternatives and devices in the results, by the names of
// results.
func pin(claim *resourcev1.ResourceClaim, ids map[string][]string) *resourcev1.ResourceClaim {
	pinned := claim.DeepCopy()
	for i := range pinned.Spec.Devices.Requests {
		request := &pinned.Spec.Devices.Requests[i]
		if request.Exactly != nil {
			request.Exactly.Selectors = append(request.Exactly.Selectors, among(ids[request.Name]))
		}
		chosen := request.FirstAvailable[:0:0]
		for _, o := range request.FirstAvailable {
			if list := ids[request.Name+"/"+o.Name]; len(list) > 0 {
				o.Selectors = append(o.Selectors, among(list))
				chosen = append(chosen, o)
			}
		}
		request.FirstAvailable = chosen
	}
	return pinned
}

func among(ids []string) resourcev1.DeviceSelector {
	return selectorOf(fmt.Sprintf(`device.attributes["allot.dev"].id in [%s]`, strings.Join(ids, ", ")))
}
