package app

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/allot-dev/allot/internal/attach"
	"github.com/allot-dev/allot/internal/client"
)

// errChanged ends the work on a server whose kinds have changed. The work then starts again.
var errChanged = errors.New("the server does not have the same kinds any more")

// attachment is the process of allot attach. It surveys the server before it starts the parts, and
// periodically afterwards. A fault is printed, makes the process unready, and is followed by
// another survey.
type attachment struct {
	*process

	opts     attachOptions
	surveyor *surveyor
	reported string // notes that were printed last
}

// awaitServer waits until the server responds and grants the required permissions.
func (a *attachment) awaitServer(ctx context.Context) error {
	done := a.progress.Step("API server " + a.cfg.Host)
	choice, err := a.surveyUntilValid(ctx)
	if err != nil {
		done("stopped", nil)
		return err
	}
	done(choice.Survey.Version, nil)
	return nil
}

// surveyUntilValid surveys the server until it finds no fault.
func (a *attachment) surveyUntilValid(ctx context.Context) (attach.Choice, error) {
	if a.surveyor == nil {
		asker, err := newSurveyor(a.cfg)
		if err != nil {
			return attach.Choice{}, err
		}
		a.surveyor = asker
	}
	said := ""
	for pause := askAgain; ; pause = min(2*pause, longestPause) {
		choice, err := a.surveyor.survey(ctx, &a.opts)
		if err == nil {
			a.printNotes(&choice)
			return choice, nil
		}
		if ctx.Err() == nil {
			said = a.setUnready(err, said)
		}
		select {
		case <-ctx.Done():
			return choice, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// setUnready marks the process as unready. It prints and returns the reason; said is a reason that was
// printed already.
func (a *attachment) setUnready(err error, said string) string {
	text := err.Error()
	a.health.wait("the API server: " + text)
	var rights missingRights
	switch {
	case text == said:
	case errors.As(err, &rights):
		a.progress.Line("waiting for rights that are missing:")
		for _, right := range rights {
			a.progress.Line("  may not %s", right)
		}
	default:
		a.progress.Line("waiting for the API server: %s", text)
	}
	return text
}

// printNotes prints the peculiarities of the server, once.
func (a *attachment) printNotes(choice *attach.Choice) {
	text := fmt.Sprint(choice.Notes, choice.Controllers)
	if text == a.reported {
		return
	}
	a.reported = text
	for _, note := range choice.Notes {
		a.progress.Line("%s", note)
	}
	controllers := strings.Join(choice.Controllers, ", ")
	if controllers == "" {
		controllers = "none"
	}
	a.progress.Line("places pods with schedulerName %s; controllers: %s", a.opts.schedulerName, controllers)
}

// lead runs the work, and starts it again whenever the server's kinds have changed.
func (a *attachment) lead(ctx context.Context) error {
	for {
		choice, err := a.surveyUntilValid(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // it is the context's end, as wanted
			}
			return err
		}
		if err := a.runParts(ctx, &choice); !errors.Is(err, errChanged) {
			return err
		}
		a.progress.Line("the server does not have the same kinds any more: beginning anew")
	}
}

// runParts runs the chosen parts until ctx ends, a part fails, or the server has changed.
func (a *attachment) runParts(ctx context.Context, choice *attach.Choice) error {
	done := a.progress.Step(attachName)
	working, c, err := a.newComponent(ctx, choice)
	if err != nil {
		_, err = a.endStartStep(ctx, done, err)
		return err
	}
	defer c.stop()
	defer a.process.work.view.scheduler.Store(nil)
	if running, err := a.endStartStep(ctx, done, a.start(working, c, choice)); !running {
		return err
	}
	changed := make(chan struct{})
	c.run(working, part{"look at the server", func(ctx context.Context) error { return a.watch(ctx, choice, changed) }})
	select {
	case <-ctx.Done():
	case <-c.Failed():
	case <-changed:
		a.health.wait("a new look at the API server")
		return errors.Join(errChanged, c.Err())
	}
	a.health.wait("its end")
	return c.Err()
}

func (a *attachment) newComponent(ctx context.Context, choice *attach.Choice) (context.Context, *component, error) {
	set, err := client.NewFor(a.cfg, choice.Dialect)
	if err != nil {
		return nil, nil, err
	}
	working, c, err := newComponentOn(ctx, set, a.metrics, choice.Features, choice.Absent...)
	if err != nil {
		return nil, nil, err
	}
	return working, c, nil
}

func (a *attachment) start(ctx context.Context, c *component, choice *attach.Choice) error {
	s, err := newScheduler(c, a.opts.schedulerName)
	if err != nil {
		return err
	}
	parts := []part{{"scheduler", s.Run}}
	for _, name := range choice.Controllers {
		p, err := a.controller(c, name)
		if err != nil {
			return fmt.Errorf("%s controller: %w", name, err)
		}
		parts = append(parts, p)
	}
	a.health.wait("its caches")
	c.Caches.Start(ctx)
	if err := c.start(ctx, nil, nil); err != nil {
		return err
	}
	if err := a.lookForRivals(ctx, c); err != nil {
		return err
	}
	a.process.work.view.scheduler.Store(s)
	return c.start(ctx, parts, nil)
}

// attachableMakers returns the makers of the controllers that may run on an existing cluster, where
// the scheduler has this name.
func attachableMakers(c *component, schedulerName string) []maker {
	list := slices.DeleteFunc(makers(c), func(m maker) bool { return m.ownOnly })
	return append(
		list,
		maker{
			name: attach.GroupClaim,
			make: func() (runner, error) { return attach.NewGroupClaims(c.Client, c.Caches, c.eventsOf(attachName)) },
		},
		maker{
			name: attach.Limit,
			make: func() (runner, error) { return attach.NewLimits(c.Client, c.Caches, c.eventsOf(attachName)) },
		},
		maker{name: attach.Double, make: func() (runner, error) {
			return attach.NewDoubleAllocationController(c.Client, c.Caches, c.eventsOf(attachName), schedulerName)
		}},
	)
}

// controller creates one of the controllers that may run on an existing cluster.
func (a *attachment) controller(c *component, name string) (part, error) {
	for _, m := range attachableMakers(c, a.opts.schedulerName) {
		if m.id() == name {
			r, err := m.make()
			if err != nil {
				return part{}, err
			}
			return part{name + " controller", r.Run}, nil
		}
	}
	return part{}, errors.New("is not known")
}

// watch surveys the server periodically. A server that does not answer, or refuses a right, makes
// the process unready; one whose kinds have changed ends the work.
func (a *attachment) watch(ctx context.Context, choice *attach.Choice, changed chan<- struct{}) error {
	ticker := time.NewTicker(a.opts.lookAgain)
	defer ticker.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		now, err := a.surveyor.survey(ctx, &a.opts)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			said = a.setUnready(err, said)
		case !sameKinds(&now.Survey, &choice.Survey):
			close(changed)
			<-ctx.Done()
			return ctx.Err()
		default:
			said = ""
			a.health.setReady()
		}
	}
}

// sameKinds reports whether two surveys lead to the same work. The version of the server alone
// changes nothing.
func sameKinds(x, y *attach.Survey) bool {
	a, b := *x, *y
	a.Version, b.Version, a.Minor, b.Minor = "", "", 0, 0
	return reflect.DeepEqual(a, b)
}
