package claim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/features"
)

// TestScenarios runs testdata/scenarios. Rewrite with: go test ./internal/controller/claim -rewrite.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &scenario{world: newWorld()}
		datadriven.RunTest(t, path, s.run)
	})
}

type scenario struct{ *world }

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	verbs := map[string]func(*testing.T, *datadriven.TestData){
		"put": s.putObjects, "remove": s.remove, "hold": s.hold, "deliver": s.deliver, "stop": s.stop,
		"start": s.restart, "conflicts": s.refuse, "show": s.show, "delete": s.delete, "anew": s.anew, "later": s.letTimePass,
		"lose": s.lose, "features": s.features,
	}
	verb, ok := verbs[d.Cmd]
	if !ok {
		d.Fatalf(t, "unknown verb %q", d.Cmd)
	}
	s.log = nil
	verb(t, d)
	if len(s.log) == 0 {
		return "nothing\n"
	}
	return strings.Join(append(s.log, ""), "\n")
}

// later [gone=UID]: a minute passes; what has waited for a time is looked at. A foreign
// consumer of that UID does not exist any more.
func (s *scenario) letTimePass(t *testing.T, d *datadriven.TestData) {
	if d.HasArg("gone") {
		var uid string
		d.ScanArgs(t, "gone", &uid)
		s.foreignGone[types.UID(uid)] = true
	}
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	for _, key := range s.later {
		s.Add(key)
	}
	s.later = nil
	s.work()
}

// anew starts with an empty server.
func (s *scenario) anew(*testing.T, *datadriven.TestData) { s.world = newWorld() }

// put writes objects and lets the controller work.
func (s *scenario) putObjects(t *testing.T, d *datadriven.TestData) {
	s.put(parse(t, d.Input))
	s.work()
}

// remove pod=NAME|group=NAME|tree=NAME|claim=NAME takes an object away at once, whatever its finalizers.
func (s *scenario) remove(t *testing.T, d *datadriven.TestData) {
	for _, arg := range d.CmdArgs {
		key := "default/" + arg.Vals[0]
		switch arg.Key {
		case "pod":
			s.pods.remove(must(t, s.pods, key))
		case "group":
			s.groups.remove(must(t, s.groups, key))
		case "tree":
			s.trees.remove(must(t, s.trees, key))
		case "claim":
			s.claims.remove(must(t, s.claims, key))
		case "template":
			s.templates.remove(must(t, s.templates, key))
		default:
			d.Fatalf(t, "unknown kind %q", arg.Key)
		}
	}
	s.work()
}

// delete claim=NAME deletes as a user or garbage collection does.
func (s *scenario) delete(t *testing.T, d *datadriven.TestData) {
	var name string
	d.ScanArgs(t, "claim", &name)
	s.deleteClaim(must(t, s.claims, "default/"+name))
	s.work()
}

func must[T metav1.Object](t *testing.T, s *store[T], key string) T {
	t.Helper()
	o, ok := s.live[key]
	if !ok {
		t.Fatalf("no %s %s", s.kind, key)
	}
	return o
}

// hold claims|pods|groups: the cache of that kind does not see changes until "deliver".
func (s *scenario) hold(t *testing.T, d *datadriven.TestData) {
	s.claims.held = s.claims.held || d.HasArg("claims")
	s.pods.held = s.pods.held || d.HasArg("pods")
	s.groups.held = s.groups.held || d.HasArg("groups")
}

// deliver lets all caches see all changes.
func (s *scenario) deliver(*testing.T, *datadriven.TestData) {
	s.claims.held, s.pods.held, s.groups.held = false, false, false
	s.groups.deliver(len(s.groups.pending))
	s.pods.deliver(len(s.pods.pending))
	s.claims.deliver(len(s.claims.pending))
	s.work()
}

// stop keeps the controller from seeing and doing anything, until "start" starts another.
func (s *scenario) stop(t *testing.T, d *datadriven.TestData) {
	s.claims.held, s.pods.held, s.groups.held = true, true, true
}

// start [stale]: a new controller; with stale its cache of claims is empty until "deliver".
func (s *scenario) restart(_ *testing.T, d *datadriven.TestData) {
	s.start(d.HasArg("stale"))
	s.work()
}

// features [off=(GATE,…)]: a new controller for which these are off.
func (s *scenario) features(t *testing.T, d *datadriven.TestData) {
	s.on = features.Set{}
	for _, arg := range d.CmdArgs {
		for _, name := range arg.Vals {
			if err := s.on.Set(name + "=false"); err != nil {
				d.Fatalf(t, "%v", err)
			}
		}
	}
	s.start(false)
	s.work()
}

// conflicts n=N: that many updates of claims are refused.
func (s *scenario) refuse(t *testing.T, d *datadriven.TestData) { d.ScanArgs(t, "n", &s.conflicts) }

// lose n=N: that many records and answers about consumers of other kinds are lost.
func (s *scenario) lose(t *testing.T, d *datadriven.TestData) { d.ScanArgs(t, "n", &s.lost) }

// show prints the claims that the server has.
func (s *scenario) show(*testing.T, *datadriven.TestData) {
	for _, key := range s.claims.keys(s.claims.live) {
		c := s.claims.live[key]
		text := fmt.Sprintf("%s allocated=%t reserved=%d finalizers=%v", c.Name, c.Status.Allocation != nil,
			len(c.Status.ReservedFor), c.Finalizers)
		if owner := metav1.GetControllerOfNoCopy(c); owner != nil {
			text += " owner=" + owner.Kind + "/" + owner.Name + "/" + string(owner.UID)
		}
		s.logf("%s", text)
	}
}
