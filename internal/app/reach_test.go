package app

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestServerIsLostAfterConsecutiveFailures(t *testing.T) {
	gone := errors.New("connection refused")
	var r reachability
	for i, step := range []struct {
		err         error
		lost, found bool
	}{
		{nil, false, false},
		{gone, false, false},
		{nil, false, false}, // one failure is not reported
		{gone, false, false},
		{gone, true, false},
		{gone, false, false}, // reported once
		{nil, false, true},
		{nil, false, false},
		{gone, false, false},
		{gone, true, false},
	} {
		if lost, found := r.record(step.err); lost != step.lost || found != step.found {
			t.Errorf("step %d: lost %t, found %t", i, lost, found)
		}
	}
	if err := unreachableError(apierrors.NewForbidden(schema.GroupResource{}, "", nil)); err != nil {
		t.Errorf("a server that refuses is not there: %v", err)
	}
	if err := unreachableError(apierrors.NewTooManyRequestsError("busy")); err != nil {
		t.Errorf("a server that has too much to do is not there: %v", err)
	}
	if err := unreachableError(apierrors.NewServiceUnavailable("starting")); err == nil {
		t.Error("a server that is not available is there")
	}
}
