package groups_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims/claimstest"
	"github.com/allot-dev/allot/internal/groups"
)

// TestScenarios runs testdata/scenarios. Rewrite with: go test ./internal/groups -rewrite.
func TestScenarios(t *testing.T) {
	claimstest.Play(t, "testdata/scenarios", func(script *claimstest.Script) map[string]claimstest.Verb {
		s := &scenario{Script: script}
		return map[string]claimstest.Verb{
			"count": s.count, "protect": s.protect, "assess": s.assess, "outcome": s.outcome, "generation": s.generation,
		}
	})
}

// scenario is the state of one file. The clock advances only when an outcome is written.
type scenario struct {
	*claimstest.Script
	now time.Duration
}

// count group=NAME: the quorum, in words.
func (s *scenario) count(t *testing.T, d *datadriven.TestData) string {
	q := groups.Count(s.Group(t, d), s.World.Pods)
	return fmt.Sprintf("met=%t placed=%d: %s\n", q.Met(), q.Placed, q.Message())
}

// protect group=NAME: what happens to the finalizer.
func (s *scenario) protect(t *testing.T, d *datadriven.TestData) string {
	what, blocking := groups.Protect(s.Group(t, d), s.World.Pods)
	out := [...]string{"keep", "add", "remove"}[what]
	for _, pod := range blocking {
		out += " " + pod.Name
	}
	return out + "\n"
}

// assess group=NAME: says, and writes, what follows from the pods.
func (s *scenario) assess(t *testing.T, d *datadriven.TestData) string {
	group := s.Group(t, d)
	o, known := groups.Evaluate(group, groups.Count(group, s.World.Pods))
	if !known {
		return "left to the scheduler\n"
	}
	return s.write(group, o)
}

// outcome group=NAME scheduled|unschedulable|error, message as input: writes the conditions.
func (s *scenario) outcome(t *testing.T, d *datadriven.TestData) string {
	group := s.Group(t, d)
	switch {
	case d.HasArg("scheduled"):
		return s.write(group, groups.Scheduled(d.Input))
	case d.HasArg("unschedulable"):
		return s.write(group, groups.Unschedulable(d.Input))
	}
	return s.write(group, groups.SchedulerError(d.Input))
}

// write advances the clock by a second, so that times can be distinguished.
func (s *scenario) write(group *scheduling.PodGroup, o groups.Outcome) string {
	s.now += time.Second
	conditions, changed := groups.Conditions(group, o, metav1.NewTime(time.Unix(0, 0).Add(s.now)))
	group.Status.Conditions = conditions
	if !changed {
		return "no change\n"
	}
	var out strings.Builder
	for _, c := range conditions {
		fmt.Fprintf(&out, "%s=%s %s generation=%d since=%ds: %s\n", c.Type, c.Status, c.Reason, c.ObservedGeneration,
			c.LastTransitionTime.Unix(), c.Message)
	}
	return out.String()
}

// generation group=NAME n=N [gang=N] sets metadata.generation, and minCount with it.
func (s *scenario) generation(t *testing.T, d *datadriven.TestData) string {
	group := s.Group(t, d)
	d.ScanArgs(t, "n", &group.Generation)
	if d.HasArg("gang") {
		d.ScanArgs(t, "gang", &group.Spec.SchedulingPolicy.Gang.MinCount)
	}
	return ""
}
