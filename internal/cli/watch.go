package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/client"
)

const (
	// gatherTime is how long changes are gathered before they are looked at.
	gatherTime = 100 * time.Millisecond
	// quietTime without any change is when it is said what is waited for.
	quietTime = 10 * time.Second
)

// Summary is what became of what was applied.
type Summary struct {
	Snapshot Snapshot
	Settled  bool
	Waiting  []Reason
}

// Write writes the tables, and what is still waited for.
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

// Watch follows the applied objects until all of them have settled or ctx ends. It reports each change of one in a line, how
// many have settled, and, when nothing changes for a while, what is waited for. The error is that of ctx; the summary is good in any case.
func Watch(ctx context.Context, set *client.Set, inf *client.Informers, applied []Ref, step *Counted) (Summary, error) {
	w := &watcher{
		clock: clock.RealClock{}, report: step.Object, note: step.Note, count: step.Set, changed: make(chan struct{}, 1), said: map[Ref]said{},
		take: func() Snapshot {
			return Snapshot{
				Applied: applied, PodGroups: inf.PodGroups().List(), Claims: inf.ResourceClaims().List(), Pods: inf.Pods().List(),
				Deployments: inf.Deployments().List(), ReplicaSets: inf.ReplicaSets().List(),
				StatefulSets: inf.StatefulSets().List(), DaemonSets: inf.DaemonSets().List(), Jobs: inf.Jobs().List(),
			}
		},
		explain: func(ctx context.Context, s *Snapshot) {
			if events, err := set.Events("").List(ctx, metav1.ListOptions{}); err == nil {
				s.Events = events.Items // without them the reasons are shorter
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
	inf.Start(ctx) // kinds that nobody else has asked for
	if err := inf.WaitForSync(ctx); err != nil {
		return w.summary(context.WithoutCancel(ctx)), err
	}
	return w.run(ctx)
}

func notify[T client.Object](informer *client.Informer[T], w *watcher) {
	informer.OnChange(func(_, _ T) { w.change() })
}

// watcher looks at snapshots again and again, when something has changed.
type watcher struct {
	clock   clock.Clock
	take    func() Snapshot
	explain func(context.Context, *Snapshot) // adds the events
	report  func(string)                     // a change of an object
	note    func(string)                     // what is waited for
	count   func(int)                        // how many objects have settled
	changed chan struct{}                    // has room for one

	said   map[Ref]said // what was reported last of an object
	waited string       // what was last said to be waited for
}

// said is what was reported of an object. The reason why it waits may change often, as it names what is
// in the way; it is reported once for each state.
type said struct {
	text      string
	hasReason bool
}

func (w *watcher) change() {
	select {
	case w.changed <- struct{}{}:
	default: // somebody will look anyway
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

// reportChanges reports what is new of each object, as far as there is more to report than that it
// exists, and counts those that have settled.
func (w *watcher) reportChanges(s Snapshot) {
	settled := 0
	for _, it := range look(s).items() {
		if it.wait == "" {
			settled++
		}
		now := said{it.text, it.why != ""}
		before, ok := w.said[it.ref]
		if before == now || before.text == now.text && before.hasReason || !ok && it.text == "exists" {
			continue
		}
		w.said[it.ref] = now
		w.report(it.ref.String() + ": " + join(it.text, it.why))
	}
	w.count(settled)
}

// reportWaiting says the first thing that is waited for, if it was not said before.
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
