package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/flowcontrol"
	testclock "k8s.io/utils/clock/testing"

	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
)

// session is one run of a scheduler on a server: everything happens on the test's goroutine, step
// by step.
type session struct {
	t      tb
	server *server
	link   *link
	clock  *testclock.FakeClock
	s      *Scheduler

	objects  *kinds
	seen     int  // of the server's log
	deaf     bool // sees nothing new
	jobs     []func()
	groups   *keyQueue
	pods     *keyQueue
	events   []string
	meter    *tally
	attempts int // units tried
}

// eager is a clock whose waits are over at once: the writes of a plan run on the test's goroutine.
type eager struct{ *testclock.FakeClock }

func (e eager) After(time.Duration) <-chan time.Time {
	over := make(chan time.Time, 1)
	over <- e.Now()
	return over
}

// keyQueue is a queue of keys by the fake clock.
type keyQueue struct {
	clock *testclock.FakeClock
	due   map[model.Key]time.Time
	work  func(context.Context, model.Key) error
}

func (q *keyQueue) Add(key model.Key) { q.AddAfter(key, 0) }

func (q *keyQueue) AddAfter(key model.Key, d time.Duration) {
	at := q.clock.Now().Add(d)
	if have, ok := q.due[key]; !ok || at.Before(have) {
		q.due[key] = at
	}
}

// all works on the keys that are due.
func (q *keyQueue) all(ctx context.Context) bool {
	var keys []model.Key
	for key, at := range q.due {
		if !at.After(q.clock.Now()) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b model.Key) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		delete(q.due, key)
		if err := q.work(ctx, key); err != nil {
			q.AddAfter(key, time.Second)
		}
	}
	return len(keys) > 0
}

// start starts a scheduler, which sees all that the server has.
func start(t tb, server *server) *session {
	t.Helper()
	x := &session{
		t:       t,
		server:  server,
		link:    newLink(server),
		clock:   testclock.NewFakeClock(time.Unix(1000, 0)),
		objects: newKinds(),
		meter:   newTally(),
	}
	x.groups = &keyQueue{clock: x.clock, due: map[model.Key]time.Time{}}
	x.pods = &keyQueue{clock: x.clock, due: map[model.Key]time.Time{}}
	s, err := newScheduler(parts{
		caches: x.objects.caches(), groups: x.link, pods: x.link, evict: x.link, events: x, clock: x.clock,
		commit: func(cache commit.Cache) committer { return commit.NewOn(x.link, x.link, cache, eager{x.clock}, 1) },
		opts:   Options{Meter: x.meter},
	})
	if err != nil {
		t.Fatal(err)
	}
	x.s, s.status.groups.queue, s.status.pods.queue = s, x.groups, x.pods
	s.status.pods.limiter = flowcontrol.NewFakeAlwaysRateLimiter()
	x.groups.work, x.pods.work = s.status.groups.reconcile, s.status.pods.reconcile
	s.runConcurrently = func(job func()) { x.jobs = append(x.jobs, job) }
	for _, pod := range server.objects.pods.List() {
		x.objects.pods.Put(pod)
	}
	for _, group := range server.objects.groups.List() {
		x.objects.groups.Put(group)
	}
	for _, claim := range server.objects.claims.List() {
		x.objects.claims.Put(claim)
	}
	for _, node := range server.objects.nodes.List() {
		x.objects.nodes.Put(node)
	}
	for _, class := range server.objects.classes.List() {
		x.objects.classes.Put(class)
	}
	for _, slice := range server.objects.slices.List() {
		x.objects.slices.Put(slice)
	}
	x.seen = len(server.log)
	return x
}

func (x *session) Eventf(object runtime.Object, _, reason, format string, args ...any) {
	name := object.(interface{ GetName() string }).GetName()
	x.events = append(x.events, fmt.Sprintf("%s %s: %s", name, reason, fmt.Sprintf(format, args...)))
}

// see takes in up to n changes of the server.
func (x *session) see(n int) bool {
	saw := false
	for ; !x.deaf && n > 0 && x.seen < len(x.server.log); n-- {
		x.server.log[x.seen](x.objects)
		x.seen++
		saw = true
	}
	return saw
}

// job does the first write that waits.
func (x *session) job() bool {
	if len(x.jobs) == 0 {
		return false
	}
	job := x.jobs[0]
	x.jobs = x.jobs[1:]
	job()
	return true
}

func (x *session) step() bool {
	if !x.s.step(x.link.life) {
		return false
	}
	x.attempts++
	return true
}

func (x *session) status() bool {
	return x.groups.all(x.link.life) || x.pods.all(x.link.life)
}

// idle does all there is to do without time going by.
func (x *session) idle() {
	x.t.Helper()
	for range 100_000 {
		if x.see(1000) || x.step() || x.job() || x.status() {
			continue
		}
		return
	}
	x.t.Fatal("the scheduler finds no rest")
}

// pass lets time go by, in small steps, with all that there is to do.
func (x *session) pass(d time.Duration) {
	x.t.Helper()
	x.idle()
	for ; d > 0; d -= 50 * time.Millisecond {
		x.clock.Step(50 * time.Millisecond)
		x.idle()
	}
	if err := x.s.state.Audit(); err != nil {
		x.t.Error(err)
	}
	x.checkCounts()
}
