package claimstest

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Verb runs one command of a scenario and returns its output.
type Verb = func(*testing.T, *datadriven.TestData) string

// Script is the state that every scenario has: a world, and the verb that changes it.
type Script struct{ World *World }

// Play runs the scenarios in a directory; verbs returns the verbs for one file, in addition to
// "world".
func Play(t *testing.T, dir string, verbs func(*Script) map[string]Verb) {
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		s := &Script{World: &World{}}
		known := verbs(s)
		known["world"] = s.setWorld
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			verb, ok := known[d.Cmd]
			if !ok {
				d.Fatalf(t, "unknown verb %q", d.Cmd)
			}
			return verb(t, d)
		})
	})
}

// setWorld merges the objects of its input into the world; the argument "new" starts with an empty
// one.
func (s *Script) setWorld(t *testing.T, d *datadriven.TestData) string {
	if d.HasArg("new") {
		s.World = &World{}
	}
	w, err := Parse(d.Input)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	s.World.Merge(w)
	return ""
}

// Pod returns the pod named by the argument pod=NAME.
func (s *Script) Pod(t *testing.T, d *datadriven.TestData) *core.Pod {
	return lookUp(t, d, "pod", s.World.Pod)
}

// Group returns the PodGroup named by the argument group=NAME.
func (s *Script) Group(t *testing.T, d *datadriven.TestData) *scheduling.PodGroup {
	return lookUp(t, d, "group", s.World.Group)
}

// Claim returns the ResourceClaim named by the argument claim=NAME.
func (s *Script) Claim(t *testing.T, d *datadriven.TestData) *resource.ResourceClaim {
	return lookUp(t, d, "claim", s.World.Claim)
}

func lookUp[T any](t *testing.T, d *datadriven.TestData, kind string, look func(name string) (T, bool)) T {
	var name string
	d.ScanArgs(t, kind, &name)
	obj, ok := look(name)
	if !ok {
		d.Fatalf(t, "no %s %q", kind, name)
	}
	return obj
}
