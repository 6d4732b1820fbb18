package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"
)

// For many objects, a pipe gets a line from time to time, and a terminal a count that is updated in
// place.
func TestCounted(t *testing.T) {
	for _, tc := range []struct {
		name  string
		style Style
		total int
		want  []string
	}{
		{"few", Style{}, 3, []string{"pod/p-1 created", "pod/p-2 created", "pod/p-3 created", "a note",
			"applying               3 created (18.0s)", ""}},
		{"many in a pipe", Style{}, 3000, []string{"applying: 2 of 3000", "a note",
			"applying               3 created (18.0s)", ""}},
		{"many on a terminal", Style{Terminal: true}, 3000, []string{
			"\r\x1b[K⠋ applying\r\x1b[K⠋ applying: 1 of 3000 (6.0s)\r\x1b[K⠋ applying: 2 of 3000 (12.0s)\r\x1b[K⠋ applying: 3 of 3000 (18.0s)\r\x1b[Ka note",
			"\r\x1b[K⠋ applying: 3 of 3000 (18.0s)\r\x1b[K⠋ applying (18.0s)\r\x1b[K✓ applying               3 created (18.0s)",
			"",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b strings.Builder
			c := testingclock.NewFakeClock(time.Unix(0, 0))
			step := NewProgress(&b, tc.style, stillClock{c}).Counted("applying", tc.total)
			for i := 1; i <= 3; i++ {
				c.SetTime(c.Now().Add(6 * time.Second))
				step.Object(fmt.Sprintf("pod/p-%d created", i))
				step.Set(i)
				step.Set(i)
			}
			step.Note("a note")
			if step.Count() != 3 {
				t.Errorf("the count is %d", step.Count())
			}
			step.Done(Outcomes{Created: 3}.String(), nil)
			if diff := cmp.Diff(tc.want, strings.Split(b.String(), "\n")); diff != "" {
				t.Errorf("unexpected output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	o := Outcomes{Unchanged: 2, Created: 498, Configured: 1}
	if got := o.String(); got != "498 created, 1 configured, 2 unchanged" {
		t.Error(got)
	}
}

// The reason why objects wait is shown below the step, only on a terminal, and lines do not wrap.
func TestWaitingIsShownInPlace(t *testing.T) {
	var lines []string
	for i := range 8 {
		lines = append(lines, fmt.Sprintf("pod/p-%d: %s", i, strings.Repeat("x", 100)))
	}
	show := func(style Style) string {
		var b strings.Builder
		step := NewProgress(&b, style, stillClock{testingclock.NewFakeClock(time.Unix(0, 0))}).Counted("starting", 30)
		step.Waiting(lines)
		step.Waiting([]string{"pod/p: no device"})
		step.Note("a note")
		step.Waiting(nil)
		step.Done("", nil)
		return b.String()
	}
	if got := show(Style{}); got != "a note\nstarting\n" {
		t.Errorf("a pipe gets %q", got)
	}
	var block strings.Builder
	for _, line := range lines[:maxWaiting] {
		block.WriteString("\n\x1b[K  " + line[:76] + "…")
	}
	one := "\r\x1b[K⠋ starting\n\x1b[K  pod/p: no device\x1b[1A"
	want := "\r\x1b[K⠋ starting\r\x1b[K" +
		"\r\x1b[K⠋ starting" + block.String() + "\n\x1b[K  and 2 more\x1b[7A\r\x1b[J" +
		one + "\r\x1b[Ja note\n" + one + "\r\x1b[J" +
		"\r\x1b[K⠋ starting\r\x1b[K⠋ starting\r\x1b[K✓ starting\n"
	if diff := cmp.Diff(want, show(Style{Terminal: true})); diff != "" {
		t.Errorf("a terminal gets (-want +got):\n%s", diff)
	}
}
