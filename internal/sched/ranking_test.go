package sched

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/model"
)

// The reference sorts all candidates.
func sortedNodes(list []candidate) []*model.NodeInfo {
	var in []candidate
	for _, c := range list {
		if !c.out {
			in = append(in, c)
		}
	}
	slices.SortFunc(in, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(b.wish, a.wish), cmp.Compare(a.devices, b.devices), cmp.Compare(a.crowd, b.crowd),
			cmp.Compare(a.load, b.load), cmp.Compare(a.node.Name, b.node.Name),
		)
	})
	var nodes []*model.NodeInfo
	for _, c := range in {
		nodes = append(nodes, c.node)
	}
	return nodes
}

func drawCandidate(t *rapid.T, node *model.NodeInfo) candidate {
	return candidate{
		node: node, zone: node.Zone, out: rapid.IntRange(0, 3).Draw(t, "out") == 0, wish: rapid.Int64Range(0, 1).Draw(t, "wish"),
		devices: rapid.IntRange(0, 1).Draw(t, "devices"), load: float64(rapid.IntRange(0, 3).Draw(t, "load")),
	}
}

func TestRanking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []candidate
		for i := range rapid.IntRange(0, 100).Draw(t, "nodes") {
			list = append(list, drawCandidate(t, &model.NodeInfo{Name: fmt.Sprintf("n%03d", i), Zone: int32(i % 3)}))
		}
		now := slices.Clone(list)
		r := &ranking{}
		r.reset(list)
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			for range rapid.IntRange(0, min(len(now), 15)).Draw(t, "changes") {
				n := rapid.IntRange(0, len(now)-1).Draw(t, "changed")
				now[n] = drawCandidate(t, now[n].node)
				r.change(n, now[n])
			}
			company, zones := map[*model.NodeInfo]int{}, rapid.IntRange(0, 1).Draw(t, "zoned")*3
			for range rapid.IntRange(0, min(len(now), 3)).Draw(t, "company") {
				company[now[rapid.IntRange(0, len(now)-1).Draw(t, "at")].node]++
			}
			r.mingle(company, zones)
			r.settle()
			for i := range now {
				now[i].crowd = r.list[i].crowd
			}
			want := sortedNodes(now)
			if r.size() != len(want) {
				t.Fatalf("%d candidates, should be %d", r.size(), len(want))
			}
			for i := range rapid.IntRange(0, len(want)).Draw(t, "asked") {
				if r.at(i) != want[i] {
					t.Fatalf("place %d: %s, should be %s", i, r.at(i).Name, want[i].Name)
				}
			}
			r.restart()
		}
	})
}
