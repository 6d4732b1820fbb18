package batch

import (
	"errors"
	"sync/atomic"
	"testing"
)

func TestSlowStartStopsAfterTheFirstBatchThatFails(t *testing.T) {
	refused := errors.New("refused")
	for _, tc := range []struct{ count, failAt, calls int }{
		{count: 0, failAt: -1, calls: 0},
		{count: 10, failAt: -1, calls: 10},
		{count: 1000, failAt: 0, calls: 1},
		{count: 1000, failAt: 3, calls: 7}, // batches of 1, 2 and 4
		{count: 5, failAt: 4, calls: 5},
	} {
		var calls atomic.Int32
		err := SlowStart(tc.count, func(i int) error {
			calls.Add(1)
			if i == tc.failAt {
				return refused
			}
			return nil
		})
		if int(calls.Load()) != tc.calls || errors.Is(err, refused) != (tc.failAt >= 0) {
			t.Errorf("SlowStart(%d) failing at %d: %d calls and error %v, want %d calls", tc.count, tc.failAt, calls.Load(),
				err, tc.calls)
		}
	}
}

func TestParallelCallsAllAndReturnsTheFirstError(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	var calls atomic.Int32
	err := Parallel(500, func(i int) error {
		calls.Add(1)
		return map[int]error{7: first, 300: second}[i]
	})
	if calls.Load() != 500 || !errors.Is(err, first) {
		t.Errorf("%d calls and error %v, want 500 and %v", calls.Load(), err, first)
	}
}
