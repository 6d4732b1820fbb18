package job

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Indexes is a set of completion indexes: spans in order, none of which touches another.
type Indexes []span

// span is a run of indexes, both ends included.
type span struct{ first, last int }

// IndexesOf is the set of these indexes, in any order.
func IndexesOf(list ...int) Indexes {
	spans := make(Indexes, len(list))
	for i, index := range list {
		spans[i] = span{index, index}
	}
	return spans.joined()
}

// ParseIndexes reads the form of status.completedIndexes, such as "1,3-5,7". Indexes of limit and above, and what cannot
// be read, are left out.
func ParseIndexes(text string, limit int) Indexes {
	var spans Indexes
	for part := range strings.SplitSeq(text, ",") {
		from, to, isSpan := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil || first < 0 {
			continue
		}
		last := first
		if isSpan {
			if last, err = strconv.Atoi(to); err != nil {
				continue
			}
		}
		if last = min(last, limit-1); first <= last {
			spans = append(spans, span{first, last})
		}
	}
	return spans.joined()
}

// joined sorts the spans, which may overlap, and makes one of those that touch. It changes the list that it is called on.
func (in Indexes) joined() Indexes {
	slices.SortFunc(in, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	out := in[:0]
	for _, s := range in {
		if n := len(out); n > 0 && s.first <= out[n-1].last+1 {
			out[n-1].last = max(out[n-1].last, s.last)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// String is the form of status.completedIndexes: spans of three and more have a dash.
func (in Indexes) String() string {
	var parts []string
	for _, s := range in {
		switch s.last - s.first {
		case 0:
			parts = append(parts, strconv.Itoa(s.first))
		case 1:
			parts = append(parts, strconv.Itoa(s.first), strconv.Itoa(s.last))
		default:
			parts = append(parts, strconv.Itoa(s.first)+"-"+strconv.Itoa(s.last))
		}
	}
	return strings.Join(parts, ",")
}

// Len is how many indexes there are.
func (in Indexes) Len() int {
	total := 0
	for _, s := range in {
		total += s.last - s.first + 1
	}
	return total
}

// Has says whether the index is one of them.
func (in Indexes) Has(index int) bool {
	at, exact := slices.BinarySearchFunc(in, index, func(s span, index int) int { return cmp.Compare(s.first, index) })
	return exact || at > 0 && in[at-1].last >= index
}

// Union has the indexes of both.
func (in Indexes) Union(other Indexes) Indexes { return slices.Concat(in, other).joined() }

// Common is how many indexes both have.
func (in Indexes) Common(other Indexes) int { return in.Len() + other.Len() - in.Union(other).Len() }

// Missing gives the first count indexes below limit that are not there.
func (in Indexes) Missing(count, limit int) []int {
	var missing []int
	next := 0
	for _, s := range append(slices.Clone(in), span{limit, limit}) {
		for ; next < min(s.first, limit) && len(missing) < count; next++ {
			missing = append(missing, next)
		}
		next = s.last + 1
	}
	return missing
}
