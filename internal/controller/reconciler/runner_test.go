package reconciler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	testclock "k8s.io/utils/clock/testing"
)

// start runs r until the test ends and checks that Run returns.
func start[K comparable](t *testing.T, r *Runner[K]) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestKeyIsReconciledOncePerBurst(t *testing.T) {
	got := make(chan string, 10)
	r := New("test", func(_ context.Context, key string) error {
		got <- key
		return nil
	}, Options{Workers: 1})
	r.Add("a")
	r.Add("a")
	r.Add("b")
	if r.Len() != 2 {
		t.Errorf("Len() = %d, want 2", r.Len())
	}
	start(t, r)
	if first, second := <-got, <-got; first != "a" || second != "b" {
		t.Errorf("reconciled %q, %q; want a, b", first, second)
	}
	if len(got) != 0 {
		t.Errorf("reconciled again: %q", <-got)
	}
}

func TestSameKeyNeverRunsTwiceAtOnce(t *testing.T) {
	var mu sync.Mutex
	running, calls := 0, 0
	entered, release, last := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	r := New("test", func(context.Context, string) error {
		mu.Lock()
		running++
		calls++
		if running > 1 {
			t.Error("two workers have the same key")
		}
		n := calls
		mu.Unlock()
		entered <- struct{}{}
		<-release
		mu.Lock()
		running--
		mu.Unlock()
		if n == 2 {
			close(last)
		}
		return nil
	}, Options{Workers: 3})
	start(t, r)
	r.Add("a")
	<-entered
	r.Add("a") // arrives during the attempt: it must run once more, afterwards
	close(release)
	<-last
}

func TestErrorIsRetriedWithGrowingDelay(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	attempts := make(chan int)
	n := 0
	r := New("test", func(context.Context, string) error {
		n++
		attempts <- n
		switch n {
		case 1:
			return errors.New("no")
		case 2:
			panic("at the second attempt")
		}
		return nil
	}, Options{Workers: 1, FirstRetry: time.Second, LastRetry: time.Minute, Clock: clock})
	r.Add("a")
	start(t, r)
	<-attempts
	for _, delay := range []time.Duration{time.Second, 2 * time.Second} {
		awaitAttempt(t, clock, attempts, delay)
	}
}

// awaitAttempt advances the clock in small steps and checks that the next attempt
// does not come before delay has passed.
func awaitAttempt(t *testing.T, clock *testclock.FakeClock, attempts <-chan int, delay time.Duration) {
	t.Helper()
	began := clock.Now()
	for {
		select {
		case <-attempts:
			if waited := clock.Since(began); waited < delay {
				t.Errorf("retried after %v, want at least %v", waited, delay)
			}
			return
		default:
			if clock.HasWaiters() {
				clock.Step(50 * time.Millisecond)
			}
		}
	}
}

func TestShutdownDrainsWithoutWork(t *testing.T) {
	r := New("test", func(context.Context, int) error {
		t.Error("reconciled after the end")
		return nil
	}, Options{})
	for i := range 100 {
		r.Add(i)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsReconciledBeforeReady(t *testing.T) {
	unfilled := errors.New("caches are not filled")
	r := New("test", func(context.Context, string) error {
		t.Error("reconciled")
		return nil
	}, Options{Ready: func(context.Context) error { return unfilled }})
	r.Add("a")
	if err := r.Run(t.Context()); !errors.Is(err, unfilled) {
		t.Errorf("Run() = %v, want %v", err, unfilled)
	}
}

// laneOf returns Background for capital letters, Fast for the first letters of the alphabet, and
// Slow for the others.
func laneOf(key string) Lane {
	switch {
	case key < "a":
		return Background
	case key < "c":
		return Fast
	}
	return Slow
}

// 2,500 keys in the background lane that have waited for long do not delay later keys of other
// lanes, and make progress meanwhile (P36).
func TestBackgroundLaneDelaysNothing(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	l := newLanes(laneOf, clock)
	for range 2500 {
		l.Push("R")
	}
	clock.Step(time.Minute)
	before := 0 // background keys that were processed before the last of the others
	for i := range 300 {
		l.Push([]string{"a", "z"}[i%2])
		for key := ""; key != "a" && key != "z"; {
			if key = l.Pop(); key == "R" {
				before++
			}
		}
	}
	if before != 300/(backgroundShare-1)-1 && before != 300/(backgroundShare-1) {
		t.Errorf("%d background keys went before 300 others", before)
	}
	for range 2500 - before {
		if key := l.Pop(); key != "R" {
			t.Fatalf("%s is left", key)
		}
	}
}

func TestFastLaneGoesFirst(t *testing.T) {
	got := make(chan string, 10)
	r := NewWithLanes("test", func(_ context.Context, key string) error {
		got <- key
		return nil
	}, laneOf, Options{Workers: 1})
	for _, key := range []string{"x", "b", "y", "a"} {
		r.Add(key)
	}
	start(t, r)
	for _, want := range []string{"b", "a", "x", "y"} {
		if key := <-got; key != want {
			t.Errorf("reconciled %q, want %q", key, want)
		}
	}
}

func TestSlowLaneComesForward(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	l := newLanes(laneOf, clock)
	for range 3 {
		l.Push("z")
		for range 2 {
			l.Push("a")
			clock.Step(patience)
		}
	}
	var order string
	for l.Len() > 0 {
		order += l.Pop()
	}
	if want := "aazaazaaz"; order != want {
		t.Errorf("order %s, want %s", order, want)
	}
}

func TestPersistentErrorIsLogged(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	going := apierrors.NewForbidden(resource, "p", errors.New("the namespace is being terminated"))
	going.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{"a refusal", apierrors.NewForbidden(resource, "p", errors.New("no right")), true},
		{"a conflict", apierrors.NewConflict(resource, "p", errors.New("changed")), false},
		{"a namespace that goes", fmt.Errorf("create: %w", going), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(1)))
			ctx := klog.NewContext(t.Context(), logger)
			r := New("test", func(context.Context, string) error { return tc.err }, Options{FirstRetry: time.Millisecond})
			defer r.queue.ShutDown()
			r.Add("a")
			for range 5 {
				r.next(ctx)
			}
			log := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
			if got := log != ""; got != tc.want {
				t.Errorf("logged %q, want something: %v", log, tc.want)
			}
		})
	}
}
