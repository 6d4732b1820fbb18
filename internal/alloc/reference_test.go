package alloc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// The reference tries every device for every slot, and knows nothing of cells, flows or orders.

const driver = "gpu.example.com"

type world struct {
	state   *model.State
	node    *model.NodeInfo
	claims  []*model.Claim
	devices []model.DeviceID
	usable  map[model.DeviceID]bool     // reached from the node, not held, in a usable pool
	has     map[model.DeviceID][]string // letters that selectors ask for
	scope   map[model.DeviceID]string
	taint   map[model.DeviceID]resourcev1.DeviceTaintEffect // of taint t=v; "" if there is none
}

func selector(letter string) string {
	return fmt.Sprintf(`device.attributes[%q].letters.contains(%q)`, driver, letter)
}

func drawWorld(t *rapid.T) *world {
	w := &world{
		state: model.NewState(), usable: map[model.DeviceID]bool{}, has: map[model.DeviceID][]string{}, scope: map[model.DeviceID]string{}, taint: map[model.DeviceID]resourcev1.DeviceTaintEffect{},
	}
	w.state.PutNode(&model.Node{Name: "n", Labels: map[string]string{"rack": "a"}, Allocatable: model.Resources{corev1.ResourcePods: 10}})
	w.state.PutClass(&model.Class{Name: "class", Selectors: []string{fmt.Sprintf("device.driver == %q", driver)}})
	w.node, _ = w.state.Node("n")
	total := 0
	for p := range rapid.IntRange(1, 3).Draw(t, "pools") {
		w.drawPool(t, p, &total)
	}
	for c := range rapid.IntRange(1, 2).Draw(t, "claims") {
		claim := &model.Claim{Key: model.Key{Namespace: "ns", Name: fmt.Sprint("c", c)}}
		for r := range rapid.IntRange(1, 3).Draw(t, "requests") {
			option := model.Option{Class: "class", Count: rapid.Int64Range(1, 2).Draw(t, "count")}
			for _, letter := range rapid.SampledFrom([]string{"", "a", "b", "ab", "c"}).Draw(t, "wanted") {
				option.Selectors = append(option.Selectors, selector(string(letter)))
			}
			option.Tolerations = rapid.SampledFrom(tolerations).Draw(t, "tolerations")
			claim.Requests = append(claim.Requests, model.Request{Name: fmt.Sprint("r", r), Options: []model.Option{option}})
		}
		w.claims = append(w.claims, claim)
	}
	return w
}

var tolerations = [][]resourcev1.DeviceToleration{
	nil, nil, nil,
	{{Key: "t", Operator: resourcev1.DeviceTolerationOpExists}},
	{{Key: "t", Operator: resourcev1.DeviceTolerationOpEqual, Value: "v"}},
	{{Key: "t", Operator: resourcev1.DeviceTolerationOpEqual, Value: "w"}},
	{{Operator: resourcev1.DeviceTolerationOpExists, Effect: resourcev1.DeviceTaintEffectNoExecute}},
}

func drawTaint(t *rapid.T) []resourcev1.DeviceTaint {
	effect := rapid.SampledFrom([]resourcev1.DeviceTaintEffect{"", "", "", "None", "NoSchedule", "NoExecute"}).Draw(t, "taint")
	if effect == "" {
		return nil
	}
	return []resourcev1.DeviceTaint{{Key: "t", Value: "v", Effect: effect}}
}

func (w *world) drawPool(t *rapid.T, p int, total *int) {
	id := model.PoolID{Driver: driver, Pool: fmt.Sprint("p", p)}
	slice := &model.Slice{Name: id.Pool, Pool: id, Generation: 1, PoolSlices: rapid.SampledFrom([]int64{1, 1, 1, 2}).Draw(t, "slices")}
	scopes := []model.Scope{{Node: "n"}, {Node: "other"}, {All: true}, {Selector: rackSelector("a")}, {Selector: rackSelector("b")}}
	reached := []bool{true, false, true, true, false}
	var held []model.DeviceID
	for d := range rapid.IntRange(0, min(4, 7-*total)).Draw(t, "devices") {
		*total++
		letters := rapid.SampledFrom([]string{"", "a", "b", "ab", "abc"}).Draw(t, "letters")
		scope := rapid.IntRange(0, 4).Draw(t, "scope")
		taints := drawTaint(t)
		slice.Devices = append(slice.Devices, model.Device{
			Name: fmt.Sprint("d", d), Scope: scopes[scope], Taints: taints,
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"letters": {StringValue: &letters}},
		})
		device := model.DeviceID{Driver: driver, Pool: id.Pool, Device: fmt.Sprint("d", d)}
		w.devices = append(w.devices, device)
		w.has[device], w.scope[device] = strings.Split(letters, ""), fmt.Sprint(scope)
		if taints != nil {
			w.taint[device] = taints[0].Effect
		}
		taken := rapid.IntRange(0, 4).Draw(t, "held") == 0
		if taken {
			held = append(held, device)
		}
		w.usable[device] = reached[scope] && !taken && slice.PoolSlices == 1
	}
	w.state.PutSlice(slice)
	for _, device := range held {
		claim := &model.Claim{Key: model.Key{Namespace: "ns", Name: "holder of " + device.String()}, Allocation: &model.Allocation{}}
		claim.Allocation.Devices = []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: device.Driver, Pool: device.Pool, Device: device.Device}}
		w.state.PutClaim(claim)
	}
}

func rackSelector(rack string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "rack", Operator: corev1.NodeSelectorOpIn, Values: []string{rack}},
	}}}}
}

// matches says whether the device has all letters that the option's selectors ask for, and no taint that matters to it.
func (w *world) matches(device model.DeviceID, option *model.Option) bool {
	for _, letter := range []string{"a", "b", "c"} {
		if slices.Contains(option.Selectors, selector(letter)) && !slices.Contains(w.has[device], letter) {
			return false
		}
	}
	effect := w.taint[device]
	if effect == "" || effect == "None" {
		return true
	}
	if len(option.Tolerations) == 0 {
		return false
	}
	toleration := option.Tolerations[0]
	return (toleration.Effect == "" || toleration.Effect == effect) && toleration.Value != "w"
}

// kind is what can be told of a device: its pool, from where it is used, and which requests it could serve.
func (w *world) kind(device model.DeviceID) string {
	kind := device.Pool + "/" + w.scope[device] + "/"
	for _, claim := range w.claims {
		for r := range claim.Requests {
			kind += fmt.Sprint(w.matches(device, &claim.Requests[r].Options[0]), " ")
		}
	}
	return kind
}

type slot struct{ claim, request int }

// solutions are all ways to serve the claims, by the kinds of devices that each request gets.
func (w *world) solutions() map[string]bool {
	var slots []slot
	for c, claim := range w.claims {
		for r := range claim.Requests {
			for range claim.Requests[r].Options[0].Count {
				slots = append(slots, slot{c, r})
			}
		}
	}
	found := map[string]bool{}
	got := make([]model.DeviceID, 0, len(slots))
	var try func()
	try = func() {
		if len(got) == len(slots) {
			found[w.signature(slots, got)] = true
			return
		}
		s := slots[len(got)]
		for _, device := range w.devices {
			if w.usable[device] && !slices.Contains(got, device) && w.matches(device, &w.claims[s.claim].Requests[s.request].Options[0]) {
				got = append(got, device)
				try()
				got = got[:len(got)-1]
			}
		}
	}
	try()
	return found
}

// signature does not tell apart the requests of one claim that ask for the same: what they get can be swapped.
func (w *world) signature(slots []slot, got []model.DeviceID) string {
	by := map[string][]string{}
	for i, s := range slots {
		option := &w.claims[s.claim].Requests[s.request].Options[0]
		id := fmt.Sprint(s.claim, option.Selectors, option.Tolerations)
		by[id] = append(by[id], w.kind(got[i]))
	}
	var lines []string
	for s, kinds := range by {
		slices.Sort(kinds)
		lines = append(lines, fmt.Sprint(s, kinds))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// An allocation is found if and only if there is one; every kind of solution is offered, once, and each is sound.
func TestAgainstReference(t *testing.T) {
	allocator := alloc.New()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want := w.solutions()
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
		if len(want) == 0 {
			t.Fatal("not refused, but there is no solution")
		}
		offered := map[string]bool{}
		budget := &alloc.Budget{Limit: 1_000_000}
		outcome := board.Search(budget, func(choice alloc.Choice) bool {
			signature := w.check(t, choice)
			if offered[signature] {
				t.Fatalf("offered twice: %s", signature)
			}
			offered[signature] = true
			return false
		})
		if outcome != alloc.Exhausted {
			t.Fatalf("the search ended with %d", outcome)
		}
		for signature := range want {
			if !offered[signature] {
				t.Fatalf("never offered: %s", signature)
			}
		}
		if first, ok := board.First(budget); !ok || len(first) != len(w.claims) {
			t.Fatal("no first choice")
		}
	})
}

// check holds a choice against what was asked for, and gives its signature.
func (w *world) check(t *rapid.T, choice alloc.Choice) string {
	var slots []slot
	var got []model.DeviceID
	for c, allocation := range choice {
		local := false
		at := 0
		for r := range w.claims[c].Requests {
			request := &w.claims[c].Requests[r]
			for range request.Options[0].Count {
				device := model.DeviceIDOf(allocation.Devices[at])
				if allocation.Devices[at].Request != request.Name || !w.usable[device] || !w.matches(device, &request.Options[0]) || slices.Contains(got, device) {
					t.Fatalf("%s cannot have %s", request.Name, device)
				}
				local = local || w.scope[device] == "0"
				slots, got = append(slots, slot{c, r}), append(got, device)
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
	return w.signature(slots, got)
}
