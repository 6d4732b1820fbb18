package app

import (
	"errors"
	"testing"

	"github.com/allot-dev/allot/internal/forecast"
)

func TestExitCodesOfPlans(t *testing.T) {
	for _, c := range []struct {
		name string
		plan forecast.Plan
		want int
	}{
		{"nothing", forecast.Plan{}, 0},
		{"placed", forecast.Plan{Summary: forecast.Summary{Placed: 3, StillWaiting: 2}}, 0},
		{"waits", forecast.Plan{Summary: forecast.Summary{Placed: 3, Waiting: 1, Evicted: 1}}, exitWaits},
		{"refused", forecast.Plan{Problems: []forecast.Problem{{Object: "Job a/b", Reason: "exceeded quota"}}}, exitWaits},
		{"moved", forecast.Plan{Summary: forecast.Summary{Moved: 1}}, exitTouches},
		{"evicted", forecast.Plan{Summary: forecast.Summary{Placed: 1, Evicted: 1}}, exitTouches},
		{"deleted", forecast.Plan{Summary: forecast.Summary{Deleted: 1}}, exitTouches},
		{"room for some", forecast.Plan{
			Capacity: &forecast.Capacity{Copies: 1}, Problems: []forecast.Problem{{Object: "Job a/b", Reason: "exceeded quota"}},
		}, 0},
		{"room for none", forecast.Plan{Capacity: &forecast.Capacity{}}, exitWaits},
	} {
		err := planVerdict(&c.plan)
		code := 0
		if exit, ok := errors.AsType[exitError](err); ok {
			code = int(exit)
		}
		if code != c.want || exitCode(t.Context(), err, Streams{}) != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.want)
		}
	}
}

func TestPlanFlags(t *testing.T) {
	o := planOptions{
		add: []string{
			"n1=2",
		}, delete: []string{"job/train"}, taint: []string{"n1/gpu-0", "n1/gpu-1:NoSchedule"}, drain: []string{"n2"},
	}
	changes, err := o.changes()
	if err != nil {
		t.Fatal(err)
	}
	if len(changes.Add) != 1 || changes.Add[0].Count != 2 || changes.Taint[0].Effect != "NoExecute" ||
		changes.Taint[1].Effect != "NoSchedule" {
		t.Errorf("changes %+v", changes)
	}
	for _, wrong := range []planOptions{
		{add: []string{"n1"}},
		{add: []string{"n1=0"}},
		{add: []string{"=2"}},
		{delete: []string{"train"}},
		{taint: []string{"n1/gpu-0:Gone"}},
		{taint: []string{":NoExecute"}},
	} {
		if _, err := wrong.changes(); err == nil {
			t.Errorf("%+v: no error", wrong)
		}
	}
}
