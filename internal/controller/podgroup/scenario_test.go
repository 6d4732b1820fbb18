package podgroup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims/claimstest"
	"github.com/allot-dev/allot/internal/groups"
)

// TestScenarios runs testdata/scenarios. Rewrite with: go test ./internal/controller/podgroup
// -rewrite.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &scenario{world: &claimstest.World{}}
		s.controller = newController(pods{s}, podGroups{s}, s, s)
		s.controller.queue = s
		datadriven.RunTest(t, path, s.run)
	})
}

// scenario is caches, server, queue and event recorder in one; writes reach the caches immediately.
type scenario struct {
	world      *claimstest.World
	controller *Controller
	waiting    []types.NamespacedName
	conflicts  int
	log        []string
}

type pods struct{ *scenario }

func (p pods) ByIndex(_, key string) []*core.Pod {
	var out []*core.Pod
	for _, pod := range p.world.Pods {
		if slices.Contains(groups.IndexKeys(pod), key) {
			out = append(out, pod)
		}
	}
	return out
}

type podGroups struct{ *scenario }

func (g podGroups) Get(_, name string) (*scheduling.PodGroup, bool) { return g.world.Group(name) }

func (s *scenario) Add(key types.NamespacedName) {
	if !slices.Contains(s.waiting, key) {
		s.waiting = append(s.waiting, key)
	}
}

func (s *scenario) AddAfter(key types.NamespacedName, _ time.Duration) { s.Add(key) }

func (s *scenario) SetFinalizers(_ context.Context, group *scheduling.PodGroup, finalizers []string) error {
	if s.conflicts > 0 {
		s.conflicts--
		return apierrors.NewConflict(schema.GroupResource{Resource: "podgroups"}, group.Name, nil)
	}
	s.log = append(s.log, fmt.Sprintf("finalizers of %s: %v", group.Name, finalizers))
	updated := group.DeepCopy()
	updated.Finalizers = finalizers
	if updated.DeletionTimestamp != nil && len(finalizers) == 0 {
		s.log = append(s.log, group.Name+" is gone")
		s.world.Groups = slices.DeleteFunc(s.world.Groups, func(g *scheduling.PodGroup) bool { return g.Name == group.Name })
		s.controller.onGroup(group, nil)
		return nil
	}
	s.world.Merge(&claimstest.World{Groups: []*scheduling.PodGroup{updated}})
	s.controller.onGroup(group, updated)
	return nil
}

func (s *scenario) Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("event %s %s: %s", eventtype, reason, fmt.Sprintf(messageFmt, args...)))
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	s.log = nil
	switch d.Cmd {
	case "world": // adds or changes objects, and runs the controller
		s.merge(t, d)
	case "remove": // pod=NAME
		var name string
		d.ScanArgs(t, "pod", &name)
		pod, ok := s.world.Pod(name)
		if !ok {
			d.Fatalf(t, "no pod %q", name)
		}
		s.world.Pods = slices.DeleteFunc(s.world.Pods, func(p *core.Pod) bool { return p == pod })
		s.controller.onPod(pod, nil)
	case "conflicts": // n=N writes are refused from now on
		d.ScanArgs(t, "n", &s.conflicts)
		return ""
	default:
		d.Fatalf(t, "unknown verb %q", d.Cmd)
	}
	s.work()
	return strings.Join(append(s.log, ""), "\n")
}

func (s *scenario) merge(t *testing.T, d *datadriven.TestData) {
	w, err := claimstest.Parse(d.Input)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	for _, pod := range w.Pods {
		before, _ := s.world.Pod(pod.Name)
		s.world.Merge(&claimstest.World{Pods: []*core.Pod{pod}})
		s.controller.onPod(before, pod)
	}
	for _, group := range w.Groups {
		before, _ := s.world.Group(group.Name)
		s.world.Merge(&claimstest.World{Groups: []*scheduling.PodGroup{group}})
		s.controller.onGroup(before, group)
	}
}

// work reconciles until the queue is empty; failed keys are retried.
func (s *scenario) work() {
	for range 20 {
		if len(s.waiting) == 0 {
			return
		}
		key := s.waiting[0]
		s.waiting = s.waiting[1:]
		if err := s.controller.Reconcile(context.Background(), key); err != nil {
			s.log = append(s.log, "again: "+err.Error())
			s.Add(key)
		}
	}
	s.log = append(s.log, "does not come to rest")
}

// The status of a pod may change often while its PodGroup waits for it, and each reconciliation
// reads all members.
func TestOnlyEndedPodsWakeTheirPodGroup(t *testing.T) {
	w, err := claimstest.Parse(
		"group pg deleting protected\npod a uid=1 group=pg node=n1 phase=Pending\npod b uid=1 group=pg node=n1 phase=Running\npod c uid=1 group=pg node=n1 phase=Failed\n",
	)
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario{world: w}
	s.controller = newController(pods{s}, podGroups{s}, s, s)
	s.controller.queue = s
	pending, running, failed := w.Pods[0], w.Pods[1], w.Pods[2]
	for _, c := range []struct {
		name          string
		before, after *core.Pod
		want          int
	}{
		{"comes", nil, pending, 0},
		{"begins to run", pending, running, 0},
		{"ends", running, failed, 1},
		{"goes after its end", failed, nil, 0},
		{"goes", running, nil, 1},
	} {
		s.waiting = nil
		if s.controller.onPod(c.before, c.after); len(s.waiting) != c.want {
			t.Errorf("a pod that %s: %d looks, want %d", c.name, len(s.waiting), c.want)
		}
	}
}
