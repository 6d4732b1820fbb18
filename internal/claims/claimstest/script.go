package claimstest

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Verb carries out one command of a scenario and prints what came of it.
type Verb = func(*testing.T, *datadriven.TestData) string

// Script is what every scenario has: a world, and the verb that changes it.
type Script struct{ World *World }

// Play runs the scenarios of a folder; verbs gives the verbs of one file, beside "world".
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

// setWorld merges the objects of its input into the world; "anew" starts an empty one.
func (s *Script) setWorld(t *testing.T, d *datadriven.TestData) string {
	if d.HasArg("anew") {
		s.World = &World{}
	}
	w, err := Parse(d.Input)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	s.World.Merge(w)
	return ""
}

// Pod is the pod that the command's argument pod=NAME names.
func (s *Script) Pod(t *testing.T, d *datadriven.TestData) *core.Pod {
	return lookUp(t, d, "pod", s.World.Pod)
}

// Group is the PodGroup that the command's argument group=NAME names.
func (s *Script) Group(t *testing.T, d *datadriven.TestData) *scheduling.PodGroup {
	return lookUp(t, d, "group", s.World.Group)
}

// Claim is the ResourceClaim that the command's argument claim=NAME names.
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
