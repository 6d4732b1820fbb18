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
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/testkit/memserver"
)

var all = flag.Bool("all", false, "play all kinds of faults at each write")

func TestMain(m *testing.M) {
	klog.SetLogger(klog.Logger{})   // those who have ended complain
	utilruntime.ErrorHandlers = nil // they sleep, and mix up the times of the plays
	debug.SetGCPercent(800)         // a play leaves little behind, and makes much of it
	os.Exit(m.Run())
}

// act is one step of a play, and what is there after it.
type act struct {
	cmd, input, rest string
	// any: what is there after a fault depends on how far things were before. The victims are away
	// when the act happens.
	any bool
}

// TestCrashAtEachWrite is R50.
func TestCrashAtEachWrite(t *testing.T) {
	files, err := filepath.Glob("testdata/*.play")
	if err != nil || len(files) == 0 {
		t.Fatal("no plays", err)
	}
	for turn, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".play"), func(t *testing.T) {
			t.Parallel()
			server, err := memserver.New()
			if err != nil {
				t.Fatal(err)
			}
			r := rehearse(t, server, setUp(t, server), file)
			if !t.Failed() {
				r.crashAll(t, server, turn)
			}
		})
	}
}

// TestPlacementsAreWhole has the API server end within each placement of a play, after each number
// of its writes: when it is back, every gang is bound or waits as a whole, before any other part does
// something about it.
func TestPlacementsAreWhole(t *testing.T) {
	for _, name := range []string{"group", "job", "tree", "tree_claim"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := memserver.New()
			if err != nil {
				t.Fatal(err)
			}
			r := rehearse(t, server, setUp(t, server), filepath.Join("testdata", name+".play"))
			plays := 0
			for at, struck := 1, true; struck && !t.Failed(); at++ {
				for writes := range 8 {
					f := fault{
						victims: []string{apiServer},
						at:      at,
						only:    "/placements",
						made:    true,
						writes:  writes,
						lag:     writes % 4,
						down:    downs[writes%3],
						forgets: writes%2 > 0,
					}
					if struck, _ = r.play(t, server, f); struck {
						plays++
					}
				}
			}
			if plays < 8 {
				t.Errorf("only %d plays", plays)
			}
		})
	}
}

// scene is what a play begins with: what is there, and what time it is.
type scene struct {
	state memserver.Snapshot
	time  time.Time
}

func sceneOf(server *memserver.Server) scene { return scene{server.Snapshot(), time.Now()} }

// rehearsal is a play as it goes without a fault, from where faults begin.
type rehearsal struct {
	opening scene
	acts    []act
}

// setUp gives the server what all plays need, and the nodes.
func setUp(t *testing.T, server *memserver.Server) (opening scene) {
	text, err := os.ReadFile("testdata/setup.yaml")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, server, fault{})
		defer s.curtain()
		s.act(act{cmd: "apply", input: string(text)})
		s.rest("", true)
		opening = sceneOf(server)
	})
	return opening
}

// rehearse plays a file without a fault.
func rehearse(t *testing.T, server *memserver.Server, opening scene, file string) rehearsal {
	r := rehearsal{opening: opening}
	opening.set(server)
	synctest.Test(t, func(t *testing.T) {
		opening.wait()
		s := newStage(t, server, fault{})
		defer s.curtain()
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			a := act{cmd: d.Cmd, input: d.Input, any: d.HasArg("any")}
			s.act(a)
			s.rest("", true)
			s.sound()
			now := s.summary()
			if d.HasArg("given") {
				r.opening = sceneOf(server)
				return now
			}
			if !a.any {
				a.rest = now
			}
			r.acts = append(r.acts, a)
			return now
		})
		for _, fault := range history(opening.state, server.Changes()) {
			t.Error(fault)
		}
	})
	return r
}

func (s scene) set(server *memserver.Server) { server.Restore(s.state) }

// wait lets the time pass until the scene begins; the clock of a bubble begins anew.
func (s scene) wait() { time.Sleep(time.Until(s.time)) }

// crashAll plays the acts once for each write and kind of end.
func (r rehearsal) crashAll(t *testing.T, server *memserver.Server, turn int) {
	began := time.Now()
	plays := 0
	var slowest time.Duration
	meanwhile := slices.ContainsFunc(r.acts, func(a act) bool { return a.any })
	ends := []string{controllers, placer, everybody}
	if meanwhile { // which concerns what the scheduler has begun
		ends = ends[1:]
	}
	for _, who := range ends {
		// How many writes there are depends on the lag: it is over when none of three lags has that many.
		for at, missed := 1, 0; missed < 3; at++ {
			missed++
			for _, f := range faults(who, at, turn) {
				f.late = f.late || meanwhile
				struck, slow := r.play(t, server, f)
				slowest = max(slowest, slow)
				if struck {
					plays++
					missed = 0
				}
			}
		}
		t.Logf("%s: %d plays", who, plays)
	}
	t.Logf("%d plays in %s; the slowest came to rest in %s", plays, time.Since(began), slowest)
	if plays < 40 {
		t.Errorf("only %d plays", plays)
	}
}

// everybody ends: all parts, or the API server, without which no part gets further.
const everybody = "everybody"

var downs = []time.Duration{0, 500 * time.Millisecond, 15 * time.Second}

// faults are the ends at one write: one of several kinds, or all of them with -all. The lags and
// the times of absence take turns, and so do a write that is lost and one that is made when
// somebody ends: the write that is made is what is there when the next one is lost.
func faults(who string, at, turn int) []fault {
	kinds := ofEverybody(at)
	if who != everybody {
		kinds = ofPart(who, at)
		turn = 0
	}
	if *all {
		return kinds
	}
	n := (at + turn) % len(kinds)
	return kinds[n : n+1]
}

func ofPart(who string, at int) []fault {
	victims := []string{who}
	lost := fault{victims: victims, at: at, lag: at % 4, down: downs[at%3], late: at%5 == 0}
	made := fault{victims: victims, at: at, lag: (at + 2) % 4, down: downs[(at+1)%3], late: at%5 == 2, made: true}
	live := fault{victims: victims, at: at, lag: (at + 1) % 4, made: true, live: true}
	return []fault{lost, made, live}
}

func ofEverybody(at int) []fault {
	lag := at + at/4
	lost := fault{victims: allParts, at: at, lag: lag % 4, down: downs[at%3], late: at%5 == 0}
	made := fault{victims: allParts, at: at, lag: (lag + 2) % 4, down: downs[(at+1)%3], late: at%5 == 2, made: true}
	unheard := fault{
		victims: []string{apiServer},
		at:      at,
		lag:     (lag + 1) % 4,
		down:    downs[at%3],
		late:    at%5 == 1,
		forgets: at%3 > 0,
	}
	stored := fault{
		victims: []string{apiServer},
		at:      at,
		lag:     (lag + 3) % 4,
		down:    downs[(at+1)%3],
		late:    at%5 == 3,
		forgets: at%3 < 2,
		made:    true,
		writes:  at % 3,
	}
	kinds := []fault{lost, unheard, made, stored}
	if at%3 == 0 { // and once more, while they pick up
		for i := range kinds {
			again := [][]string{allParts, {apiServer}}[at/3%2]
			kinds[i].then = &fault{victims: again, at: 1 + at%8, made: at%4 < 2, lag: (at + 1) % 4, down: kinds[i].down}
		}
	}
	return kinds
}

// play plays the acts with a fault, and says whether it struck and how long the slowest act took.
func (r rehearsal) play(t *testing.T, server *memserver.Server, f fault) (struck bool, slowest time.Duration) {
	r.opening.set(server)
	synctest.Test(t, func(t *testing.T) {
		r.opening.wait()
		s := newStage(t, server, f)
		defer s.curtain()
		for i, a := range r.acts {
			s.act(a)
			if s.rest(a.rest, a.any || i == len(r.acts)-1) {
				s.sound()
			}
			if t.Failed() {
				break
			}
		}
		for _, fault := range history(r.opening.state, server.Changes()) {
			t.Error(fault)
		}
		if t.Failed() {
			t.Logf("%s\n%s", f, log(server, s.wire))
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
