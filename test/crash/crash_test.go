package crash

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/testkit/memserver"
)

var all = flag.Bool("all", false, "play all kinds of faults at each write")

func TestMain(m *testing.M) {
	klog.SetLogger(klog.Logger{}) // those who have ended complain
	debug.SetGCPercent(800)       // a play leaves little behind, and makes much of it
	os.Exit(m.Run())
}

// act is one step of a play, and what is there after it.
type act struct {
	cmd, input, rest string
	// any: what is there after a fault depends on how far things were before. The victims are away when the act happens.
	any bool
}

// TestCrashAtEachWrite is R50.
func TestCrashAtEachWrite(t *testing.T) {
	files, err := filepath.Glob("testdata/*.play")
	if err != nil || len(files) == 0 {
		t.Fatal("no plays", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".play"), func(t *testing.T) {
			t.Parallel()
			server, err := memserver.New()
			if err != nil {
				t.Fatal(err)
			}
			empty := setUp(t, server)
			server.Restore(empty)
			if acts := rehearse(t, server, file); !t.Failed() {
				crashAll(t, server, empty, acts)
			}
		})
	}
}

// setUp gives the server what all plays need, and the nodes.
func setUp(t *testing.T, server *memserver.Server) memserver.Snapshot {
	text, err := os.ReadFile("testdata/setup.yaml")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, server, fault{})
		defer s.curtain()
		s.act(act{cmd: "apply", input: string(text)})
		s.rest("", true)
	})
	return server.Snapshot()
}

// rehearse plays a file without a fault.
func rehearse(t *testing.T, server *memserver.Server, file string) (acts []act) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, server, fault{})
		defer s.curtain()
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			a := act{cmd: d.Cmd, input: d.Input, any: d.HasArg("any")}
			s.act(a)
			s.rest("", true)
			s.sound()
			now := s.summary()
			if !a.any {
				a.rest = now
			}
			acts = append(acts, a)
			return now
		})
		for _, fault := range history(nil, server.Changes()) {
			t.Error(fault)
		}
	})
	return acts
}

// crashAll plays the acts once for each write and kind of end.
func crashAll(t *testing.T, server *memserver.Server, empty memserver.Snapshot, acts []act) {
	began := time.Now()
	plays := 0
	var slowest time.Duration
	meanwhile := slices.ContainsFunc(acts, func(a act) bool { return a.any })
	ends := [][]string{{controllers}, {placer}, allParts}
	if meanwhile { // which concerns what the scheduler has begun
		ends = ends[1:]
	}
	for _, victims := range ends {
		// How many writes there are depends on the lag: it is over when none of three lags has that many.
		for at, missed := 1, 0; missed < 3; at++ {
			missed++
			for _, f := range faults(victims, at) {
				f.late = f.late || meanwhile
				server.Restore(empty)
				struck, slow := play(t, server, f, acts)
				if t.Failed() {
					t.Fatal(f)
				}
				slowest = max(slowest, slow)
				if struck {
					plays++
					missed = 0
				}
			}
		}
		t.Logf("%v: %d plays", victims, plays)
	}
	t.Logf("%d plays in %s; the slowest came to rest in %s", plays, time.Since(began), slowest)
	if plays < 40 {
		t.Errorf("only %d plays", plays)
	}
}

// faults are the ends at one write: one of three kinds, or all of them with -all. The lags and the times of absence take turns,
// and so do a write that is lost and one that is made when everybody ends: the write that is made is what is there when the
// next one is lost.
func faults(victims []string, at int) []fault {
	downs := []time.Duration{0, 500 * time.Millisecond, 15 * time.Second}
	lost := fault{victims: victims, at: at, lag: at % 4, down: downs[at%3], late: at%5 == 0}
	made := fault{victims: victims, at: at, lag: (at + 2) % 4, down: downs[(at+1)%3], late: at%5 == 2, made: true}
	live := fault{victims: victims, at: at, lag: (at + 1) % 4, made: true, live: true}
	switch {
	case len(victims) > 1:
		f := []fault{lost, made}[at%2]
		if at%3 == 0 { // and once more, while they pick up
			f.then = &fault{victims: victims, at: 1 + at%8, made: at%4 < 2, lag: (at + 1) % 4, down: f.down}
		}
		return []fault{f}
	case *all:
		return []fault{lost, made, live}
	}
	return [][]fault{{lost}, {made}, {live}}[at%3]
}

// play plays the acts with a fault, and says whether it struck and how long the slowest act took.
func play(t *testing.T, server *memserver.Server, f fault, acts []act) (struck bool, slowest time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, server, f)
		defer s.curtain()
		for i, a := range acts {
			s.act(a)
			if s.rest(a.rest, a.any || i == len(acts)-1) {
				s.sound()
			}
			if t.Failed() {
				break
			}
		}
		for _, fault := range history(nil, server.Changes()) {
			t.Error(fault)
		}
		if t.Failed() {
			t.Log(log(server, s.wire))
		}
		struck, slowest = s.ends > 0 || s.wire.hasStruck(), s.slowest
	})
	return struck, slowest
}

// log tells what was written.
func log(server *memserver.Server, w *wire) string {
	var b strings.Builder
	for i, line := range w.writes {
		fmt.Fprintf(&b, "%d %s\n", i+1, line)
	}
	return b.String()
}
