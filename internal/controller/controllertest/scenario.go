package controllertest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/testkit/line"
)

// Scenario is a server, caches and a controller.
type Scenario struct {
	*Journal
	// Objects and Commands are the controller's own verbs. Both change objects; those of Objects
	// can be input lines. A command replaces the shared verb of the same name.
	Objects, Commands map[string]func(*line.Line)
	// Reconcile is the controller's. It is called for Main if a command names no object.
	Reconcile func(ctx context.Context, key types.NamespacedName) error
	Main      string
	// Run does what follows the controller's writes, except for the pods named by not, and reports
	// whether anything happened. By default it runs the pods.
	Run func(not []string) (moved bool)
	// Quiet reports whether the controller has nothing to do, by the lines of a pass. By default
	// there must be none.
	Quiet func(lines []string) bool
	// Status returns the line with which roll ends.
	Status func() string
	// Readable returns the output with names in place of hashes.
	Readable func(text string) string

	kinds  []kind
	pods   *Pods
	refuse map[string]error // by verb and kind
	lost   map[string]bool  // by verb
}

// kind is a Kind of objects of any type.
type kind interface {
	isCalled(word string) bool
	follow()
	remove(name string)
	list()
}

// New returns a Scenario without kinds. gather is the delay that the controller uses for events.
func New(main string, gather time.Duration) *Scenario {
	return &Scenario{
		Journal: NewJournal(gather), Main: main,
		Objects: map[string]func(*line.Line){}, Commands: map[string]func(*line.Line){},
		Readable: func(text string) string { return text },
		Quiet:    func(lines []string) bool { return len(lines) == 0 },
		refuse:   map[string]error{}, lost: map[string]bool{},
	}
}

// Walk runs every file below the path, each with its own Scenario.
func Walk(t *testing.T, path string, create func() *Scenario) {
	datadriven.Walk(t, path, func(t *testing.T, path string) {
		s := create()
		datadriven.RunTest(t, path, s.run)
	})
}

func (s *Scenario) run(t *testing.T, d *datadriven.TestData) string {
	l, err := line.Command(d)
	if err == nil {
		err = s.do(l)
	}
	if err != nil {
		d.Fatalf(t, "%s: %v", d.Cmd, err)
	}
	return s.Readable(s.Flush())
}

func (s *Scenario) do(l *line.Line) error {
	shared := map[string]func(*line.Line){
		"reconcile": s.doReconcile, "roll": s.doRoll, "sync": s.doSync, "list": s.doList,
		"refuse": s.doRefuse, "allow": s.doAllow, "lose": s.doLose, "advance": s.doAdvance,
	}
	if verb := shared[l.Verb]; verb != nil && s.Commands[l.Verb] == nil {
		verb(l)
		return l.Err()
	}
	lag := l.Has("lag")
	if err := s.change(l); err != nil {
		return err
	}
	if !lag {
		s.Sync()
	}
	return l.Err()
}

// change runs a verb that changes objects.
func (s *Scenario) change(l *line.Line) error {
	verbs := s.objectVerbs()
	if l.Verb == "objects" {
		return line.Run(l.Input, verbs)
	}
	if verb := s.Commands[l.Verb]; verb != nil {
		verb(l)
		return nil
	}
	if verb := verbs[l.Verb]; verb != nil {
		return verb(l)
	}
	return errors.New("no such verb")
}

// objectVerbs returns the handlers of input lines.
func (s *Scenario) objectVerbs() map[string]func(*line.Line) error {
	all := map[string]func(*line.Line){"delete": s.doDelete}
	if s.pods != nil {
		all["pod"], all["run"] = s.pods.put, s.pods.doRun
	}
	maps.Copy(all, s.Objects)
	verbs := map[string]func(*line.Line) error{}
	for name, verb := range all {
		verbs[name] = func(l *line.Line) error {
			verb(l)
			return nil // the line has the error
		}
	}
	return verbs
}

// Sync makes the caches equal to the server, and delivers the changes.
func (s *Scenario) Sync() {
	for _, k := range s.kinds {
		k.follow()
	}
}

func (s *Scenario) named(l *line.Line, word string) kind {
	i := slices.IndexFunc(s.kinds, func(k kind) bool { return k.isCalled(word) })
	if i < 0 {
		l.Failf("no kind %q", word)
		return s.kinds[0]
	}
	return s.kinds[i]
}

func (s *Scenario) reconcile(name string) {
	if err := s.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: name}); err != nil {
		s.Record("error: %v", err)
	}
}

func (s *Scenario) doReconcile(l *line.Line) {
	lag := l.Has("lag")
	name := s.Main
	if names := l.Names(); len(names) > 0 {
		name = names[0]
	}
	s.reconcile(name)
	if lag {
		return
	}
	queued := s.takeQueue()
	lines := s.Lines
	s.Sync()
	s.Lines = lines
	s.takeQueue() // by its own writes
	s.queued = queued
}

func (s *Scenario) doRoll(l *line.Line) {
	not := l.List("not")
	var all []string
	for range 100 {
		s.reconcile(s.Main)
		quiet := s.Quiet(s.Lines)
		sortParallel(s.Lines)
		for _, text := range slices.DeleteFunc(s.Lines, isRepeated) {
			all = append(all, s.Readable(text))
		}
		s.Lines = nil
		s.Sync()
		moved := s.Run(not)
		s.Sync()
		if quiet && !moved {
			s.takeQueue()
			s.Lines = []string{strings.Join(append(all, s.Status()), "\n")} // in the order of the steps
			return
		}
		s.Now.Step(time.Second)
	}
	all = append(all, "no end")
	s.Lines = all
}

// isRepeated reports whether a line is about what each pass does, so that roll does not print it.
func isRepeated(text string) bool {
	return strings.HasPrefix(text, "status") || strings.HasPrefix(text, "again")
}

func (s *Scenario) doSync(l *line.Line) {
	words := l.Names()
	for _, word := range words {
		s.named(l, word).follow()
	}
	if len(words) == 0 {
		s.Sync()
	}
}

func (s *Scenario) doList(l *line.Line) { s.named(l, l.Name()).list() }

func (s *Scenario) doDelete(l *line.Line) {
	for _, word := range l.Keys() {
		for _, name := range l.All(word) {
			s.named(l, word).remove(name)
		}
	}
}

func (s *Scenario) doRefuse(l *line.Line) {
	err := Refusal(l.Text("with", ""))
	if l.Has("terminating") {
		err = apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("namespace is terminating"))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, terminating)
	}
	s.refuse[s.request(l)] = err
}

func (s *Scenario) doAllow(l *line.Line) { delete(s.refuse, s.request(l)) }

// request returns the verb and the kind that a line names.
func (s *Scenario) request(l *line.Line) string {
	names := l.Names()
	if len(names) != 2 {
		l.Failf("expected a verb and a kind, not %q", names)
		return ""
	}
	s.named(l, names[1])
	return names[0] + " " + names[1]
}

func (s *Scenario) doLose(l *line.Line) {
	clear(s.lost)
	for _, verb := range l.Names() {
		s.lost[verb] = true
	}
}

func (s *Scenario) doAdvance(l *line.Line) {
	by, err := time.ParseDuration(l.Name())
	if err != nil {
		l.Failf("%w", err)
	}
	s.Now.Step(by)
}
