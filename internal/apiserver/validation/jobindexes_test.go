package validation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestIndexes formats and parses sets of indexes, and compares the common index of two sets with a
// search.
func TestIndexes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "completions")
		sets := [2][]bool{
			rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "a"),
			rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "b"),
		}
		var lists [2][]interval
		for i, set := range sets {
			var err error
			if lists[i], err = parseIndexes(written(set), int32(n)); err != nil {
				t.Fatal(err)
			}
			if got := expanded(lists[i], n); !slices.Equal(got, set) {
				t.Fatalf("%q was read as %v", written(set), lists[i])
			}
		}
		first := -1
		for i := n - 1; i >= 0; i-- {
			if sets[0][i] && sets[1][i] {
				first = i
			}
		}
		if got, ok := common(lists[0], lists[1]); ok != (first >= 0) || ok && int(got) != first {
			t.Fatalf("common index of %v and %v: got %d %v, want %d", lists[0], lists[1], got, ok, first)
		}
	})
}

func written(set []bool) string {
	var parts []string
	for i := 0; i < len(set); i++ {
		if !set[i] {
			continue
		}
		last := i
		for last+1 < len(set) && set[last+1] {
			last++
		}
		if last == i {
			parts = append(parts, fmt.Sprint(i))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", i, last))
		}
		i = last
	}
	return strings.Join(parts, ",")
}

func expanded(list []interval, n int) []bool {
	set := make([]bool, n)
	for _, i := range list {
		for k := i.first; k <= i.last; k++ {
			set[k] = true
		}
	}
	return set
}
