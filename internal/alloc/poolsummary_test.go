package alloc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// counterPool describes a pool with counters as plain numbers.
type counterPool struct {
	total   [2][2]int // by counter set and counter
	usage   [][2][2]int
	groups  [][2]string // one letter per group
	held    []bool
	tainted []bool
}

func drawCounterPool(t *rapid.T) *counterPool {
	s := &counterPool{}
	grouped := rapid.Bool().Draw(t, "grouped")
	for set := range s.total {
		for c := range s.total[set] {
			s.total[set][c] = rapid.IntRange(0, 4).Draw(t, "total")
		}
	}
	for range rapid.IntRange(1, 7).Draw(t, "devices") {
		var takes [2][2]int
		var groups [2]string
		for set := range takes {
			for c := range takes[set] {
				takes[set][c] = rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3}).Draw(t, "takes")
			}
			if grouped {
				groups[set] = rapid.SampledFrom([]string{"", "a", "b", "ab"}).Draw(t, "groups")
			}
		}
		s.usage, s.groups = append(s.usage, takes), append(s.groups, groups)
		s.held = append(s.held, rapid.IntRange(0, 3).Draw(t, "held") == 0)
		s.tainted = append(s.tainted, rapid.IntRange(0, 5).Draw(t, "tainted") == 0)
	}
	return s
}

// view builds a State with the pool.
func (p *counterPool) view() model.PoolView {
	state := model.NewState()
	id := model.PoolID{Driver: driver, Pool: "p"}
	slice := &model.Slice{Name: "s", Pool: id, PoolSlices: 1, Usage: model.Usage{Scope: model.Scope{All: true}}}
	counter := func(n int) resourcev1.Counter {
		return resourcev1.Counter{Value: *resource.NewQuantity(int64(n), resource.DecimalSI)}
	}
	for set, total := range p.total {
		slice.Counters = append(slice.Counters, resourcev1.CounterSet{
			Name:     fmt.Sprint("set-", set),
			Counters: map[string]resourcev1.Counter{"x": counter(total[0]), "y": counter(total[1])},
		})
	}
	for i, takes := range p.usage {
		d := model.Device{Name: fmt.Sprint("d-", i), Usage: &model.Usage{Scope: model.Scope{All: true}}}
		for set := range takes {
			if !p.uses(i, set) {
				continue
			}
			c := resourcev1.DeviceCounterConsumption{
				CounterSet: fmt.Sprint("set-", set),
				Counters:   map[string]resourcev1.Counter{"x": counter(takes[set][0]), "y": counter(takes[set][1])},
			}
			if p.groups[i][set] != "" {
				c.CompatibilityGroups = strings.Split(p.groups[i][set], "")
			}
			d.ConsumesCounters = append(d.ConsumesCounters, c)
		}
		if p.tainted[i] {
			d.Taints = []resourcev1.DeviceTaint{{Key: "k", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
		}
		slice.Devices = append(slice.Devices, d)
		if p.held[i] {
			state.Claims.Put(&model.Claim{Key: model.Key{Namespace: "n", Name: d.Name}, Allocation: &model.Allocation{
				Devices: []resourcev1.DeviceRequestAllocationResult{{Driver: driver, Pool: "p", Device: d.Name}},
			}})
		}
	}
	state.Devices.PutSlice(slice)
	view, _ := state.Devices.View(id)
	return view
}

func (p *counterPool) uses(device, set int) bool { return p.usage[device][set] != [2]int{} }

// allows reports whether the chosen devices can be allocated in addition to those held.
func (p *counterPool) allows(chosen []int) bool {
	grouped := slices.ContainsFunc(p.groups, func(g [2]string) bool { return g != [2]string{} })
	for set := range p.total {
		left, common := p.total[set], ""
		first := true
		for i := range p.usage {
			picked := slices.Contains(chosen, i)
			if !picked && !p.held[i] || !p.uses(i, set) {
				continue
			}
			for c := range left {
				left[c] -= p.usage[i][set][c]
			}
			mine := p.groups[i][set]
			if mine == "" {
				mine = "-"
			}
			if first {
				common, first = mine, false
			} else {
				common = strings.Map(func(r rune) rune {
					if strings.ContainsRune(mine, r) {
						return r
					}
					return -1
				}, common)
			}
		}
		for _, i := range chosen {
			if !p.uses(i, set) {
				continue
			}
			if grouped && common == "" {
				return false
			}
			for c := range left {
				if p.usage[i][set][c] > 0 && left[c] < 0 {
					return false
				}
			}
		}
	}
	return true
}

// The summary agrees with brute force about available devices and the number that can be allocated
// together.
func TestPoolSummaryAgreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawCounterPool(t)
		// A device has groups only for sets that it takes from.
		for i := range s.groups {
			for set := range s.groups[i] {
				if !s.uses(i, set) {
					s.groups[i][set] = ""
				}
			}
		}
		view := s.view()
		stock := alloc.NewPoolSummary(&view)
		var free []int
		for i := range s.usage {
			if s.held[i] {
				continue
			}
			free = append(free, i)
			can := !s.tainted[i] && s.allows([]int{i})
			if why := stock.UnavailableReason(i); (why == "") != can {
				t.Fatalf("device %d: %q, but it can be had: %v", i, why, can)
			}
		}
		request := 0
		for subset := range 1 << len(free) {
			var chosen []int
			for n, device := range free {
				if subset&(1<<n) != 0 && !s.tainted[device] {
					chosen = append(chosen, device)
				}
			}
			if len(chosen) > request && s.allows(chosen) {
				request = len(chosen)
			}
		}
		if got, sure := stock.MaxConcurrent(free); got != request || !sure {
			t.Fatalf("%d beside each other (sure: %v), want %d", got, sure, request)
		}
	})
}

// If the search limit is reached, MaxConcurrent returns a lower bound and reports that it is not
// exact.
func TestMaxConcurrentReportsLowerBound(t *testing.T) {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	slice := &model.Slice{
		Name:       "s",
		Pool:       model.PoolID{Driver: driver, Pool: "p"},
		PoolSlices: 1,
		Usage:      model.Usage{Scope: model.Scope{All: true}},
	}
	set := resourcev1.CounterSet{Name: "set", Counters: map[string]resourcev1.Counter{}}
	for i := range 30 {
		set.Counters[fmt.Sprint("c-", i)] = resourcev1.Counter{Value: one}
	}
	slice.Counters = []resourcev1.CounterSet{set}
	var all []int
	for i := range 30 {
		for j := range i {
			all = append(all, len(all))
			slice.Devices = append(
				slice.Devices,
				model.Device{
					Name: fmt.Sprint("d-", i, "-", j),
					Usage: &model.Usage{ConsumesCounters: []resourcev1.DeviceCounterConsumption{{
						CounterSet: "set", Counters: map[string]resourcev1.Counter{fmt.Sprint("c-", i): {Value: one},
							fmt.Sprint("c-", j): {Value: one}},
					}}},
				},
			)
		}
	}
	state := model.NewState()
	state.Devices.PutSlice(slice)
	view, _ := state.Devices.View(slice.Pool)
	stock := alloc.NewPoolSummary(&view)
	if most, sure := stock.MaxConcurrent(all[:3]); most != 1 || !sure {
		t.Errorf("of three pairs out of three: %d (sure: %v), want 1", most, sure)
	}
	if most, sure := stock.MaxConcurrent(all); most < 1 || most > 15 || sure {
		t.Errorf("of all pairs out of 30: %d (sure: %v), want at most 15, and not sure", most, sure)
	}
}
