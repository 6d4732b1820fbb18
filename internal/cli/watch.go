package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/client"
)

const (
	// gatherTime is the time for which changes are collected before a snapshot is taken.
	gatherTime = 100 * time.Millisecond
	// quietTime is the time without a change after which Watch reports what it waits for.
	quietTime = 10 * time.Second
)

// Summary is the final state of the applied objects.
type Summary struct {
	Snapshot Snapshot
	Settled  bool
	Waiting  []Reason
}

// Write writes the tables, and the objects that have not settled with their reasons.
func (s Summary) Write(w io.Writer) error {
	if err := s.Snapshot.WriteTables(w); err != nil {
		return err
	}
	for _, reason := range s.Waiting {
		if _, err := fmt.Fprintln(w, "waiting for "+reason.String()); err != nil {
			return err
		}
	}
	return nil
}

// Watch watches the applied objects until all of them have settled or ctx ends. It reports each
// change of an object in a line, the number of settled objects, what the others wait for, and, if
// nothing changes for a while, the first of these in a line. It returns the error of ctx; the
// summary is valid in any case.
func Watch(ctx context.Context, set *client.Set, inf *client.Informers, applied []Ref, step *Counted) (Summary, error) {
	w := &watcher{
		clock: clock.RealClock{}, report: step.Object, note: step.Note, count: step.Set,
		waits: step.Waiting, changed: make(chan struct{}, 1),
		reported: map[Ref]reportedReason{},
		take: func() Snapshot {
			return Snapshot{
				Applied: applied, PodGroups: inf.PodGroups().List(), Claims: inf.ResourceClaims().List(), Pods: inf.Pods().List(),
				Deployments: inf.Deployments().List(), ReplicaSets: inf.ReplicaSets().List(),
				StatefulSets: inf.StatefulSets().List(), DaemonSets: inf.DaemonSets().List(), Jobs: inf.Jobs().List(),
			}
		},
		explain: func(ctx context.Context, s *Snapshot) {
			if events, err := set.Events("").List(ctx, metav1.ListOptions{}); err == nil {
				s.Events = events.Items // without events the reasons are shorter
			}
		},
	}
	notify(inf.PodGroups(), w)
	notify(inf.ResourceClaims(), w)
	notify(inf.Pods(), w)
	notify(inf.Deployments(), w)
	notify(inf.ReplicaSets(), w)
	notify(inf.StatefulSets(), w)
	notify(inf.DaemonSets(), w)
	notify(inf.Jobs(), w)
	inf.Start(ctx) // starts the informers of kinds that no other part uses
	if err := inf.WaitForSync(ctx); err != nil {
		return w.summary(context.WithoutCancel(ctx)), err
	}
	return w.run(ctx)
}

func notify[T client.Object](informer *client.Informer[T], w *watcher) {
	informer.OnChange(func(_, _ T) { w.change() })
}

// watcher compares snapshots, one after each change.
type watcher struct {
	clock   clock.Clock
	take    func() Snapshot
	explain func(context.Context, *Snapshot) // adds the events
	report  func(string)                     // reports a change of an object
	note    func(string)                     // reports what is waited for
	count   func(int)                        // sets the number of settled objects
	waits   func([]string)                   // sets what each object waits for that has not settled
	changed chan struct{}                    // has capacity 1

	reported map[Ref]reportedReason // the last reported state of each object
	waited   string                 // the last reported text of what is waited for
}

// reportedReason is the last reported state of an object. Its reason may change often, because it
// names the objects in the way; it is reported once for each state.
type reportedReason struct {
	text      string
	hasReason bool
}

func (w *watcher) change() {
	select {
	case w.changed <- struct{}{}:
	default: // a snapshot is due already
	}
}

func (w *watcher) run(ctx context.Context) (Summary, error) {
	for {
		s := w.take()
		w.reportChanges(s)
		if done, _ := Settled(s); done {
			return Summary{Snapshot: s, Settled: true}, nil
		}
		select {
		case <-ctx.Done():
			return w.summary(context.WithoutCancel(ctx)), ctx.Err()
		case <-w.changed:
			w.clock.Sleep(gatherTime)
		case <-w.clock.After(quietTime):
			w.reportWaiting(ctx)
		}
	}
}

// reportChanges reports each object whose state has changed, unless all that is known is that it
// exists, and counts the settled objects.
func (w *watcher) reportChanges(s Snapshot) {
	settled := 0
	var waits []string
	for _, it := range look(s).items() {
		if it.wait == "" {
			settled++
		} else {
			waits = append(waits, it.ref.String()+": "+cmp.Or(it.reason, shortened(it.wait)))
		}
		now := reportedReason{it.text, it.reason != ""}
		before, ok := w.reported[it.ref]
		if before == now || before.text == now.text && before.hasReason || !ok && it.text == "exists" {
			continue
		}
		w.reported[it.ref] = now
		w.report(it.ref.String() + ": " + joinReason(it.text, it.reason))
	}
	w.count(settled)
	w.waits(waits)
}

// reportWaiting reports the first object that has not settled, unless it was reported last.
func (w *watcher) reportWaiting(ctx context.Context) {
	s := w.summary(ctx)
	if len(s.Waiting) == 0 || s.Waiting[0].String() == w.waited {
		return
	}
	w.waited = s.Waiting[0].String()
	w.note("waiting for " + w.waited)
}

func (w *watcher) summary(ctx context.Context) Summary {
	s := w.take()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	w.explain(ctx, &s)
	done, waiting := Settled(s)
	return Summary{Snapshot: s, Settled: done, Waiting: waiting}
}
