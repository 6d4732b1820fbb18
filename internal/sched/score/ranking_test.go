package score

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/model"
)

// The reference sorts all candidates.
func sortedNodes(list []Candidate) []*model.NodeInfo {
	var in []Candidate
	for _, c := range list {
		if !c.Excluded {
			in = append(in, c)
		}
	}
	slices.SortFunc(in, func(a, b Candidate) int {
		return cmp.Or(
			cmp.Compare(b.author, a.author), cmp.Compare(a.Devices, b.Devices), cmp.Compare(a.siblings, b.siblings),
			cmp.Compare(a.use, b.use), cmp.Compare(a.Node.Name, b.Node.Name),
		)
	})
	var nodes []*model.NodeInfo
	for _, c := range in {
		nodes = append(nodes, c.Node)
	}
	return nodes
}

func drawCandidate(t *rapid.T, node *model.NodeInfo) Candidate {
	return Candidate{
		Node: node, zone: node.Zone, Excluded: rapid.IntRange(0, 3).Draw(t, "out") == 0,
		author:  rapid.Int64Range(0, 1).Draw(t, "wish"),
		Devices: rapid.IntRange(0, 1).Draw(t, "devices"), use: float64(rapid.IntRange(0, 3).Draw(t, "load")),
	}
}

func TestRanking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Candidate
		for i := range rapid.IntRange(0, 100).Draw(t, "nodes") {
			list = append(list, drawCandidate(t, &model.NodeInfo{Name: fmt.Sprintf("n%03d", i), Zone: int32(i % 3)}))
		}
		now := slices.Clone(list)
		r := &Ranking{}
		r.reset(list)
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			for range rapid.IntRange(0, min(len(now), 15)).Draw(t, "changes") {
				n := rapid.IntRange(0, len(now)-1).Draw(t, "changed")
				now[n] = drawCandidate(t, now[n].Node)
				r.change(n, now[n])
			}
			company, zones := map[*model.NodeInfo]int{}, rapid.IntRange(0, 1).Draw(t, "zoned")*3
			for range rapid.IntRange(0, min(len(now), 3)).Draw(t, "company") {
				company[now[rapid.IntRange(0, len(now)-1).Draw(t, "at")].Node]++
			}
			r.setSpreadScores(company, zones)
			r.settle()
			for i := range now {
				now[i].siblings = r.list[i].siblings
			}
			want := sortedNodes(now)
			if r.Len() != len(want) {
				t.Fatalf("%d candidates, should be %d", r.Len(), len(want))
			}
			for i := range rapid.IntRange(0, len(want)).Draw(t, "asked") {
				if r.At(i) != want[i] {
					t.Fatalf("place %d: %s, should be %s", i, r.At(i).Name, want[i].Name)
				}
			}
			r.restart()
		}
	})
}
