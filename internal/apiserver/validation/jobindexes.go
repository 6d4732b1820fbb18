package validation

import (
	"fmt"
	"strconv"
	"strings"
)

// interval is a range of indexes, including both ends.
type interval struct {
	first, last int32
}

// parseIndexes parses the indexes of a Job, such as "1,3-5,7": in ascending order, below
// completions.
func parseIndexes(text string, completions int32) ([]interval, error) {
	if text == "" {
		return nil, nil
	}
	var out []interval
	for part := range strings.SplitSeq(text, ",") {
		i, err := parseInterval(part, completions)
		if err != nil {
			return nil, err
		}
		if n := len(out); n > 0 && i.first <= out[n-1].last {
			return nil, fmt.Errorf("%s does not come after %d", part, out[n-1].last)
		}
		out = append(out, i)
	}
	return out, nil
}

func parseInterval(text string, completions int32) (interval, error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	var out interval
	for _, end := range []struct {
		text string
		to   *int32
	}{{first, &out.first}, {last, &out.last}} {
		n, err := strconv.ParseInt(end.text, 10, 32)
		if err != nil {
			return out, fmt.Errorf("%q is not an index or range of indexes", text)
		}
		if int32(n) >= completions {
			return out, fmt.Errorf("index %d is not below %d, the number of completions", n, completions)
		}
		*end.to = int32(n)
	}
	if isRange && out.first >= out.last {
		return out, fmt.Errorf("range %q does not ascend", text)
	}
	return out, nil
}

func size(list []interval) int32 {
	var n int32
	for _, i := range list {
		n += i.last - i.first + 1
	}
	return n
}

// common returns the first index that is in both lists.
func common(a, b []interval) (int32, bool) {
	for len(a) > 0 && len(b) > 0 {
		first, last := max(a[0].first, b[0].first), min(a[0].last, b[0].last)
		switch {
		case first <= last:
			return first, true
		case a[0].last < b[0].last:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return 0, false
}
