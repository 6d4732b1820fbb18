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

// The reference tries every alternative for every request and every device for every slot. It knows nothing of cells,
// flows or orders.

type slot struct{ claim, request int }

// attempt is one way to serve the claims, as far as it has come.
type attempt struct {
	*world
	chosen [][]int // by claim and request: the alternative
	slots  []slot
	got    []model.DeviceID
	tries  int // devices tried for a slot
	found  map[string]bool
}

// maxTries bounds the reference. It tries devices in every order, and a few worlds have a request for all of
// a dozen devices: these orders take hours.
const maxTries = 100_000

// solutions returns all ways to serve the claims, by the kinds of devices that each request gets. It reports
// false if the reference would take more than maxTries.
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
	for o := range a.claims[c].Requests[r].Options {
		a.chosen[c][r] = o
		a.choose(c, r+1)
	}
}

func (a *attempt) option(s slot) *model.Option {
	return &a.claims[s.claim].Requests[s.request].Options[a.chosen[s.claim][s.request]]
}

func asked(option *model.Option) int64 {
	if option.Capacity == nil {
		return 0
	}
	amount := option.Capacity.Requests["m"]
	return amount.Value()
}

func (a *attempt) begin() {
	a.slots = nil
	for c, claim := range a.claims {
		for r := range claim.Requests {
			count := a.option(slot{c, r}).Count
			if a.option(slot{c, r}).All {
				count = int64(len(a.all(a.option(slot{c, r}))))
				if count == 0 || a.halfPool {
					return
				}
			}
			for range count {
				a.slots = append(a.slots, slot{c, r})
			}
		}
	}
	a.try()
}

func (a *attempt) try() {
	if len(a.got) == len(a.slots) {
		a.found[a.signature()] = true
		return
	}
	s := a.slots[len(a.got)]
	for _, device := range a.devices {
		if !a.available(s, device) {
			continue
		}
		if a.tries++; a.tries > maxTries {
			return
		}
		a.got = append(a.got, device)
		if a.rulesHold() && a.countersHold() {
			a.try()
		}
		a.got = a.got[:len(a.got)-1]
	}
}

// available says whether the slot can have the device beside what those before it have.
func (a *attempt) available(s slot, device model.DeviceID) bool {
	option := a.option(s)
	if !a.reached[device] || !a.matches(device, option) || a.held[device] && !option.AdminAccess && !a.capacity[device].shared {
		return false
	}
	if a.capacity[device].shared {
		return a.hasPart(s, device)
	}
	for i, other := range a.got {
		sameClaim := a.slots[i].claim == s.claim
		bothHold := !option.AdminAccess && !a.option(a.slots[i]).AdminAccess
		if other == device && (sameClaim || bothHold) {
			return false
		}
	}
	return true
}

// hasPart says whether enough is left of a shared device, of which a request can have one part.
func (a *attempt) hasPart(s slot, device model.DeviceID) bool {
	left := a.capacity[device].total - a.capacity[device].taken
	for i, other := range a.got {
		if other != device {
			continue
		}
		if a.slots[i] == s {
			return false
		}
		if a.option(a.slots[i]).AdminAccess {
			continue
		}
		takes, _ := a.capacity[device].takesOf(a.option(a.slots[i]))
		left -= takes
	}
	takes, _ := a.capacity[device].takesOf(a.option(s))
	return takes <= left || a.option(s).AdminAccess
}

// rulesHold holds the devices of the slots so far against the constraints of their claims.
func (a *attempt) rulesHold() bool {
	for c, claim := range a.claims {
		for i := range claim.Constraints {
			var sets [][]string
			for at, device := range a.got {
				s := a.slots[at]
				if s.claim == c && covers(&claim.Constraints[i], &claim.Requests[s.request], a.option(s)) {
					sets = append(sets, a.valuesFor(a.option(s), device))
				}
			}
			if !ruleHolds(claim.Constraints[i].DistinctAttribute != nil, sets) {
				return false
			}
		}
	}
	return true
}

// countersHold adds up what the devices that anybody has take from the counters of their pools.
func (a *attempt) countersHold() bool {
	sum := map[string]int{}
	users := map[string][]model.DeviceID{}
	for _, device := range a.devices {
		holds := a.held[device]
		for at, other := range a.got {
			holds = holds || device == other && !a.option(a.slots[at]).AdminAccess
		}
		if holds {
			users[device.Pool] = append(users[device.Pool], device)
			sum[device.Pool+"/c"] += a.takes[device][0]
			sum[device.Pool+"/d"] += a.takes[device][1]
		}
	}
	for at, device := range a.got {
		if a.option(a.slots[at]).AdminAccess || a.held[device] {
			continue // a further part takes nothing more
		}
		if !a.compatible(users[device.Pool]) {
			return false
		}
		for i, counter := range []string{"/c", "/d"} {
			if a.takes[device][i] > 0 && sum[device.Pool+counter] > a.total[device.Pool+counter] {
				return false
			}
		}
	}
	return true
}

func ruleHolds(distinct bool, sets [][]string) bool {
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

// signature does not tell apart the requests of one claim that ask for the same: what they get can be swapped.
func (a *attempt) signature() string {
	by := map[string][]string{}
	for i, s := range a.slots {
		option := a.option(s)
		id := fmt.Sprint(s.claim, option.Selectors, option.Tolerations, option.AdminAccess, asked(option))
		for r := range a.claims[s.claim].Constraints {
			if covers(&a.claims[s.claim].Constraints[r], &a.claims[s.claim].Requests[s.request], option) {
				id += fmt.Sprint(r, option.DerivedAttributes)
			}
		}
		by[id] = append(by[id], a.kind(a.got[i], option.AdminAccess))
	}
	var lines []string
	for s, kinds := range by {
		slices.Sort(kinds)
		lines = append(lines, fmt.Sprint(s, kinds))
	}
	slices.Sort(lines)
	return fmt.Sprint(a.chosen) + strings.Join(lines, "\n")
}

// An allocation is found if and only if there is one; every kind of solution is offered, once, and each is sound.
func TestAgainstReference(t *testing.T) {
	t.Parallel()
	allocator := alloc.New()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want, known := w.solutions()
		if !known {
			t.Skip("the reference takes too long")
		}
		problem, reason := allocator.Prepare(w.state, w.claims, false)
		if reason != nil {
			t.Fatal(reason)
		}
		free, offer := problem.Free(w.node)
		board, reason := problem.On(w.node)
		if (offer == alloc.Enough) != (reason == nil) {
			t.Fatalf("Free says %d and %d devices, On says %v", offer, free, reason)
		}
		if reason != nil {
			if len(want) > 0 {
				t.Fatalf("refused: %s, but there is\n%v", reason, want)
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
		if first, outcome := board.First(budget); (outcome == alloc.Accepted) != (len(want) > 0) || len(want) > 0 && len(first) != len(w.claims) {
			t.Fatalf("first choice: %d", outcome)
		}
		if len(want) == 0 && budget.Spent < 4000 {
			// Few steps, those of a search for the first choice included, are enough to refuse.
			t.Fatalf("not refused, but there is no solution, as %d steps show", budget.Spent)
		}
		for signature := range want {
			if !offered[signature] {
				t.Fatalf("never offered: %s", signature)
			}
		}
	})
}

// check holds a choice against what was asked for, and gives its signature.
func (w *world) check(t *rapid.T, choice alloc.Choice) string {
	a := &attempt{world: w, chosen: make([][]int, len(w.claims))}
	for c, allocation := range choice {
		a.chosen[c] = make([]int, len(w.claims[c].Requests))
		local, at := false, 0
		for r := range w.claims[c].Requests {
			request := &w.claims[c].Requests[r]
			for o := range request.Options {
				if at < len(allocation.Devices) && allocation.Devices[at].Request == request.ResultName(request.Options[o]) {
					a.chosen[c][r] = o
				}
			}
			s := slot{c, r}
			name, count := request.ResultName(*a.option(s)), a.option(s).Count
			if a.option(s).All {
				count = int64(len(w.all(a.option(s))))
			}
			for range count {
				result := allocation.Devices[at]
				device := model.DeviceIDOf(result)
				if result.Request != name || !a.available(s, device) || (result.AdminAccess != nil) != a.option(s).AdminAccess || len(result.Tolerations) != len(a.option(s).Tolerations) {
					t.Fatalf("%s cannot have %s", name, device)
				}
				takes, _ := w.capacity[device].takesOf(a.option(s))
				if amount := result.ConsumedCapacity["m"]; w.capacity[device].shared != (result.ShareID != nil) || result.ShareID != nil && amount.Value() != int64(takes) {
					t.Fatalf("%s takes %s of %s", name, amount.String(), device)
				}
				if b := w.binding[device]; b.waits != slices.Equal(result.BindingConditions, []string{"w"}) || b.waits != slices.Equal(result.BindingFailureConditions, []string{"f"}) {
					t.Fatalf("%s is bound under %v", device, result.BindingConditions)
				}
				local = local || w.scope[device] == "0" || w.binding[device].binds
				a.slots, a.got = append(a.slots, s), append(a.got, device)
				at++
			}
		}
		if at != len(allocation.Devices) {
			t.Fatalf("%d devices, %d wanted", len(allocation.Devices), at)
		}
		if selector := allocation.NodeSelector; local && (selector == nil || len(selector.NodeSelectorTerms[0].MatchFields) != 1) {
			t.Fatalf("a claim with a device of the node alone can be used elsewhere: %v", selector)
		}
	}
	if !a.rulesHold() || !a.countersHold() {
		t.Fatalf("constraints or counters do not hold: %v", a.got)
	}
	return a.signature()
}
