package alloc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// The reference tries every alternative for each request and every device for each slot. It does
// not use cells, flows or orders.

type slot struct{ claim, request int }

// attempt is a partial solution.
type attempt struct {
	*world
	chosen   [][]int // by claim and request: the alternative
	slots    []slot
	assigned []model.DeviceID
	tries    int // devices tried for slots
	found    map[string]bool
}

// maxTries limits the reference. It tries devices in all orders, which takes hours for the few
// worlds that have a request for all of a dozen devices.
const maxTries = 100_000

// solutions returns all solutions by the kinds of devices that each request gets. It returns false
// if the reference would take more than maxTries.
func (w *world) solutions() (map[string]bool, bool) {
	a := &attempt{world: w, found: map[string]bool{}, chosen: make([][]int, len(w.claims))}
	for c, claim := range w.claims {
		a.chosen[c] = make([]int, len(claim.Requests))
	}
	a.choose(0, 0)
	return a.found, a.tries <= maxTries
}

func (a *attempt) choose(c, r int) {
	if c == len(a.claims) {
		a.begin()
		return
	}
	if r == len(a.claims[c].Requests) {
		a.choose(c+1, 0)
		return
	}
	for o := range a.claims[c].Requests[r].Alternatives {
		a.chosen[c][r] = o
		a.choose(c, r+1)
	}
}

func (a *attempt) option(s slot) *model.Alternative {
	return &a.claims[s.claim].Requests[s.request].Alternatives[a.chosen[s.claim][s.request]]
}

func asked(alternative *model.Alternative) int64 {
	if alternative.Capacity == nil {
		return 0
	}
	amount := alternative.Capacity.Requests["m"]
	return amount.Value()
}

func (a *attempt) begin() {
	a.slots = nil
	for c, claim := range a.claims {
		for r := range claim.Requests {
			count := a.option(slot{c, r}).Count
			if a.option(slot{c, r}).All {
				count = int64(len(a.allDevices(a.option(slot{c, r}))))
				if count == 0 || a.incomplete {
					return
				}
			}
			for range count {
				a.slots = append(a.slots, slot{c, r})
			}
		}
	}
	a.tryCandidates()
}

func (a *attempt) tryCandidates() {
	if len(a.assigned) == len(a.slots) {
		a.found[a.signature()] = true
		return
	}
	s := a.slots[len(a.assigned)]
	for _, device := range a.devices {
		if !a.available(s, device) {
			continue
		}
		if a.tries++; a.tries > maxTries {
			return
		}
		a.assigned = append(a.assigned, device)
		if a.satisfiesConstraints() && a.satisfiesCounters() {
			a.tryCandidates()
		}
		a.assigned = a.assigned[:len(a.assigned)-1]
	}
}

// available reports whether the slot can use the device in addition to the devices assigned so far.
func (a *attempt) available(s slot, device model.DeviceID) bool {
	alternative := a.option(s)
	if !a.reached[device] || !a.matches(device, alternative) ||
		a.held[device] && !alternative.AdminAccess && !a.capacity[device].shared {
		return false
	}
	if a.capacity[device].shared {
		return a.hasShare(s, device)
	}
	for i, other := range a.assigned {
		sameClaim := a.slots[i].claim == s.claim
		bothHold := !alternative.AdminAccess && !a.option(a.slots[i]).AdminAccess
		if other == device && (sameClaim || bothHold) {
			return false
		}
	}
	return true
}

// hasShare reports whether a shared device has enough left. A request gets at most one share of a
// device.
func (a *attempt) hasShare(s slot, device model.DeviceID) bool {
	left := a.capacity[device].total - a.capacity[device].taken
	for i, other := range a.assigned {
		if other != device {
			continue
		}
		if a.slots[i] == s {
			return false
		}
		if a.option(a.slots[i]).AdminAccess {
			continue
		}
		takes, _ := a.capacity[device].consumedBy(a.option(a.slots[i]))
		left -= takes
	}
	takes, _ := a.capacity[device].consumedBy(a.option(s))
	return takes <= left || a.option(s).AdminAccess
}

// satisfiesConstraints reports whether the assigned devices satisfy the constraints of their
// claims.
func (a *attempt) satisfiesConstraints() bool {
	for c, claim := range a.claims {
		for i := range claim.Constraints {
			var sets [][]string
			for at, device := range a.assigned {
				s := a.slots[at]
				if s.claim == c && covers(&claim.Constraints[i], &claim.Requests[s.request], a.option(s)) {
					sets = append(sets, a.valuesFor(a.option(s), device))
				}
			}
			if !satisfies(claim.Constraints[i].DistinctAttribute != nil, sets) {
				return false
			}
		}
	}
	return true
}

// satisfiesCounters reports whether the devices in use and assigned stay within the counters of
// their pools.
func (a *attempt) satisfiesCounters() bool {
	sum := map[string]int{}
	devices := map[string][]model.DeviceID{}
	for _, device := range a.devices {
		holds := a.held[device]
		for at, other := range a.assigned {
			holds = holds || device == other && !a.option(a.slots[at]).AdminAccess
		}
		if holds {
			devices[device.Pool] = append(devices[device.Pool], device)
			sum[device.Pool+"/c"] += a.usage[device][0]
			sum[device.Pool+"/d"] += a.usage[device][1]
		}
	}
	for at, device := range a.assigned {
		if a.option(a.slots[at]).AdminAccess || a.held[device] {
			continue // another share takes nothing from counters
		}
		if !a.compatible(devices[device.Pool]) {
			return false
		}
		for i, counter := range []string{"/c", "/d"} {
			if a.usage[device][i] > 0 && sum[device.Pool+counter] > a.total[device.Pool+counter] {
				return false
			}
		}
	}
	return true
}

func satisfies(distinct bool, sets [][]string) bool {
	count := map[string]int{}
	for _, set := range sets {
		if len(set) == 0 {
			return false
		}
		for _, value := range set {
			count[value]++
		}
	}
	most := 0
	for _, n := range count {
		most = max(most, n)
	}
	if distinct {
		return most <= 1
	}
	return most == len(sets)
}

// signature describes a solution. It does not distinguish equal requests of one claim, because
// their devices can be swapped.
func (a *attempt) signature() string {
	by := map[string][]string{}
	for i, s := range a.slots {
		alternative := a.option(s)
		id := fmt.Sprint(s.claim, alternative.Selectors, alternative.Tolerations, alternative.AdminAccess, asked(alternative))
		for r := range a.claims[s.claim].Constraints {
			if covers(&a.claims[s.claim].Constraints[r], &a.claims[s.claim].Requests[s.request], alternative) {
				id += fmt.Sprint(r, alternative.DerivedAttributes)
			}
		}
		by[id] = append(by[id], a.kind(a.assigned[i], alternative.AdminAccess))
	}
	var lines []string
	for s, kinds := range by {
		slices.Sort(kinds)
		lines = append(lines, fmt.Sprint(s, kinds))
	}
	slices.Sort(lines)
	return fmt.Sprint(a.chosen) + strings.Join(lines, "\n")
}

// Search finds a solution if and only if one exists, offers each kind of solution once, and all
// solutions are valid.
func TestSearchAgreesWithReference(t *testing.T) {
	t.Parallel()
	allocator := alloc.New()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		request, known := w.solutions()
		if !known {
			t.Skip("the reference takes too long")
		}
		problem, reason := allocator.Prepare(w.state, w.claims, false)
		if reason != nil {
			t.Fatal(reason)
		}
		free, offer := problem.FreeDevices(w.node)
		board, reason := problem.NodeOffer(w.node)
		if (offer == alloc.Sufficient) != (reason == nil) {
			t.Fatalf("Free says %d and %d devices, On says %v", offer, free, reason)
		}
		if reason != nil {
			if len(request) > 0 {
				t.Fatalf("refused: %s, but there is\n%v", reason, request)
			}
			return
		}
		offered := map[string]bool{}
		budget := &alloc.Budget{Limit: 1_000_000}
		outcome := board.Search(budget, func(choice alloc.Choice) bool {
			signature := w.check(t, choice)
			if offered[signature] && !w.features.capacity {
				t.Fatalf("offered twice: %s", signature)
			}
			offered[signature] = true
			return false
		})
		if outcome != alloc.Exhausted {
			t.Fatalf("the search ended with %d", outcome)
		}
		if first, outcome := board.Best(budget); (outcome == alloc.Accepted) != (len(request) > 0) ||
			len(request) > 0 && len(first) != len(w.claims) {
			t.Fatalf("first choice: %d", outcome)
		}
		if len(request) == 0 && budget.Spent < 4000 {
			// A refusal must not need more than these steps, including a search for the best
			// choice.
			t.Fatalf("not refused, but there is no solution, as %d steps show", budget.Spent)
		}
		for signature := range request {
			if !offered[signature] {
				t.Fatalf("never offered: %s", signature)
			}
		}
	})
}

// check fails the test if a choice is not a solution, and returns its signature.
func (w *world) check(t *rapid.T, choice alloc.Choice) string {
	a := &attempt{world: w, chosen: make([][]int, len(w.claims))}
	for c, allocation := range choice {
		a.chosen[c] = make([]int, len(w.claims[c].Requests))
		local, at := false, 0
		for r := range w.claims[c].Requests {
			request := &w.claims[c].Requests[r]
			for o := range request.Alternatives {
				if at < len(allocation.Devices) && allocation.Devices[at].Request == request.ResultName(request.Alternatives[o]) {
					a.chosen[c][r] = o
				}
			}
			s := slot{c, r}
			name, count := request.ResultName(*a.option(s)), a.option(s).Count
			if a.option(s).All {
				count = int64(len(w.allDevices(a.option(s))))
			}
			for range count {
				result := allocation.Devices[at]
				device := model.DeviceIDOf(result)
				if result.Request != name || !a.available(s, device) || (result.AdminAccess != nil) != a.option(s).AdminAccess ||
					len(result.Tolerations) != len(a.option(s).Tolerations) {
					t.Fatalf("%s cannot have %s", name, device)
				}
				takes, _ := w.capacity[device].consumedBy(a.option(s))
				if amount := result.ConsumedCapacity["m"]; w.capacity[device].shared != (result.ShareID != nil) ||
					result.ShareID != nil && amount.Value() != int64(takes) {
					t.Fatalf("%s takes %s of %s", name, amount.String(), device)
				}
				if b := w.binding[device]; b.waits != slices.Equal(result.BindingConditions, []string{"w"}) ||
					b.waits != slices.Equal(result.BindingFailureConditions, []string{"f"}) {
					t.Fatalf("%s is bound under %v", device, result.BindingConditions)
				}
				local = local || w.scope[device] == "0" || w.binding[device].binds
				a.slots, a.assigned = append(a.slots, s), append(a.assigned, device)
				at++
			}
		}
		if at != len(allocation.Devices) {
			t.Fatalf("%d devices, %d wanted", len(allocation.Devices), at)
		}
		if selector := allocation.NodeSelector; local &&
			(selector == nil || len(selector.NodeSelectorTerms[0].MatchFields) != 1) {
			t.Fatalf("a claim with a device of the node alone can be used elsewhere: %v", selector)
		}
	}
	if !a.satisfiesConstraints() || !a.satisfiesCounters() {
		t.Fatalf("constraints or counters do not hold: %v", a.assigned)
	}
	return a.signature()
}
