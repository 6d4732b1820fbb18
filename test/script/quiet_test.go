package script

import (
	"bufio"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// mutating are the series of requests that change something. Leases are renewed as long as a
// process lives.
var mutating = regexp.MustCompile(
	`^apiserver_request_total\{.*verb="(?:POST|PUT|PATCH|APPLY|DELETE|DELETECOLLECTION)".*\} `,
)

// quiet waits for a span in which nobody writes anything but leases:
//
//	quiet timeout span
func quiet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: quiet timeout span")
	}
	timeout, err := time.ParseDuration(args[0])
	ts.Check(err)
	span, err := time.ParseDuration(args[1])
	ts.Check(err)
	before, since := writes(ts), time.Now()
	for end := time.Now().Add(timeout + span); ; {
		time.Sleep(span / 10)
		at, now := time.Now(), writes(ts)
		switch {
		case !maps.Equal(before, now):
			if at.After(end) {
				ts.Fatalf("never quiet for %s; the last writes were\n%s", span, difference(before, now))
			}
			before, since = now, time.Now()
		case at.Sub(since) >= span:
			return
		}
	}
}

// writes counts them by what the server's metrics say of them.
func writes(ts *testscript.TestScript) map[string]float64 {
	out, err := command(ts, "kubectl", "get", "--raw", "/metrics").Output()
	ts.Check(err)
	counts := map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		line := lines.Text()
		if !mutating.MatchString(line) || strings.Contains(line, `resource="leases"`) {
			continue
		}
		series, value, _ := strings.Cut(line, "} ")
		counts[series], err = strconv.ParseFloat(value, 64)
		ts.Check(err)
	}
	if len(counts) == 0 {
		ts.Fatalf("the server's metrics count no writes")
	}
	return counts
}

func difference(before, now map[string]float64) string {
	var b strings.Builder
	for _, series := range slices.Sorted(maps.Keys(now)) {
		if more := now[series] - before[series]; more > 0 {
			fmt.Fprintf(&b, "%g times %s\n", more, series)
		}
	}
	return b.String()
}
