package job

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Indexes is a set of completion indexes: sorted spans that do not touch each other.
type Indexes []span

// span is a range of indexes, both ends included.
type span struct{ first, last int }

// IndexesOf returns the set of these indexes.
func IndexesOf(list ...int) Indexes {
	spans := make(Indexes, len(list))
	for i, index := range list {
		spans[i] = span{index, index}
	}
	return spans.joined()
}

// ParseIndexes parses status.completedIndexes, such as "1,3-5,7". Indexes from limit on and invalid
// parts are ignored.
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

// joined sorts the spans and merges those that touch. It modifies its receiver.
func (i Indexes) joined() Indexes {
	slices.SortFunc(i, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	out := i[:0]
	for _, s := range i {
		if n := len(out); n > 0 && s.first <= out[n-1].last+1 {
			out[n-1].last = max(out[n-1].last, s.last)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// String returns the format of status.completedIndexes: spans of three or more have a dash.
func (i Indexes) String() string {
	var parts []string
	for _, s := range i {
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

// Len returns the number of indexes.
func (i Indexes) Len() int {
	total := 0
	for _, s := range i {
		total += s.last - s.first + 1
	}
	return total
}

// Has reports whether the set contains the index.
func (i Indexes) Has(index int) bool {
	at, exact := slices.BinarySearchFunc(i, index, func(s span, index int) int { return cmp.Compare(s.first, index) })
	return exact || at > 0 && i[at-1].last >= index
}

// Union returns the union of both sets.
func (i Indexes) Union(other Indexes) Indexes { return slices.Concat(i, other).joined() }

// Common returns the size of the intersection.
func (i Indexes) Common(other Indexes) int { return i.Len() + other.Len() - i.Union(other).Len() }

// Missing returns the first count indexes below limit that are not in the set.
func (i Indexes) Missing(count, limit int) []int {
	var missing []int
	next := 0
	for _, s := range append(slices.Clone(i), span{limit, limit}) {
		for ; next < min(s.first, limit) && len(missing) < count; next++ {
			missing = append(missing, next)
		}
		next = s.last + 1
	}
	return missing
}
