package cli

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"
)

// play runs three steps and prints a line, as allot up does.
func play(p *Progress, c *testingclock.FakeClock) {
	done := p.Step("API server and etcd")
	c.SetTime(c.Now().Add(1234 * time.Millisecond))
	done("https://127.0.0.1:6443", nil)
	p.Line("kubeconfig: %s", "/home/me/admin.kubeconfig")
	done = p.Step("scheduler")
	done("", nil)
	done = p.Step("simulated fleet")
	p.Line("a line while the step goes on")
	done("", errors.New("node node-0: no"))
	done("", nil) // a second end has no effect
}

// TestProgress checks the output of steps. The clock does not advance between the frames of the
// spinner, so that only the first frame is drawn.
func TestProgress(t *testing.T) {
	for _, tc := range []struct {
		name  string
		style Style
		want  []string
	}{
		{"plain", Style{}, []string{
			`API server and etcd    https://127.0.0.1:6443 (1.2s)`,
			`kubeconfig: /home/me/admin.kubeconfig`,
			`scheduler`,
			`a line while the step goes on`,
			`simulated fleet        failed: node node-0: no`,
			``,
		}},
		{"terminal", Style{Terminal: true}, []string{
			"\r\x1b[K⠋ API server and etcd\r\x1b[K✓ API server and etcd    https://127.0.0.1:6443 (1.2s)",
			"kubeconfig: /home/me/admin.kubeconfig",
			"\r\x1b[K⠋ scheduler\r\x1b[K✓ scheduler",
			"\r\x1b[K⠋ simulated fleet\r\x1b[Ka line while the step goes on",
			"\r\x1b[K⠋ simulated fleet\r\x1b[K✗ simulated fleet        node node-0: no",
			"",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b strings.Builder
			// A simple clock has no tickers, which the spinner would need to draw another frame.
			c := testingclock.NewFakeClock(time.Unix(0, 0))
			play(NewProgress(&b, tc.style, stillClock{c}), c)
			if diff := cmp.Diff(tc.want, strings.Split(b.String(), "\n")); diff != "" {
				t.Errorf("unexpected output (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSpinner advances the clock during a step.
func TestSpinner(t *testing.T) {
	c := testingclock.NewFakeClock(time.Unix(0, 0))
	w := make(chan string, 10)
	done := NewProgress(writerFunc(func(text string) { w <- text }), Style{Terminal: true, Color: true}, c).Step("step")
	var got []string
	for range 3 {
		got = append(got, <-w)
		for !c.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
		c.Step(frameTime)
	}
	<-w
	done("fine", nil)
	got = append(got, <-w, <-w)
	want := []string{
		"\r\x1b[K\x1b[36m⠋\x1b[0m step",
		"\r\x1b[K\x1b[36m⠙\x1b[0m step \x1b[2m(0.1s)\x1b[0m",
		"\r\x1b[K\x1b[36m⠹\x1b[0m step \x1b[2m(0.2s)\x1b[0m",
		"\r\x1b[K",
		"\x1b[32m✓\x1b[0m step                   fine \x1b[2m(0.3s)\x1b[0m\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected output (-want +got):\n%s", diff)
	}
}

// TestStyleFor checks that output that is not a terminal gets neither colours nor animation.
func TestStyleFor(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, w := range []io.Writer{f, &strings.Builder{}} {
		if got := StyleFor(w, func(string) string { return "" }); got != (Style{}) {
			t.Errorf("%T gets the style %+v", w, got)
		}
	}
}

type stillClock struct{ *testingclock.FakeClock }

type writerFunc func(string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}
