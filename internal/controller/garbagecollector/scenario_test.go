package garbagecollector

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/controller/kinds"
)

// The scenarios in testdata have these verbs; objects are written kind/namespace/name:
//
//	create | touch             one object a line: path [owner=kind/name[:uid][!]]… [finalizer=f] [uid=u];
//	                           "!" blocks the owner's deletion; touch replaces owners and finalizers
//	delete | foreground | orphan   as a user does, one path a line
//	settle                     deliver events and reconcile until all is quiet; prints requests
//	deliver | reconcile        one half of that, once
//	drop                       throw the events away that are not delivered yet
//	kinds without=things       what discovery shows; forgets the kinds that are gone
//	refuse verb=get|delete     the next such request fails
//	list                       the server's objects
//	nodes                      the size of the graph
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			handler, ok := handlers[d.Cmd]
			if !ok {
				d.Fatalf(t, "no verb %q", d.Cmd)
			}
			handler(t, w, d)
			return w.flush()
		})
	})
}

var handlers = map[string]func(*testing.T, *world, *datadriven.TestData){
	"create": doCreate, "touch": doCreate, "kinds": doKinds, "refuse": doRefuse, "list": doList,
	"delete":     deleting(metav1.DeletePropagationBackground),
	"foreground": deleting(metav1.DeletePropagationForeground),
	"orphan":     deleting(metav1.DeletePropagationOrphan),
	"settle":     func(t *testing.T, w *world, _ *datadriven.TestData) { w.settle(t) },
	"deliver":    func(_ *testing.T, w *world, _ *datadriven.TestData) { w.deliver() },
	"reconcile":  func(_ *testing.T, w *world, _ *datadriven.TestData) { w.reconcile() },
	"drop":       func(_ *testing.T, w *world, _ *datadriven.TestData) { w.events = nil },
	"nodes":      func(_ *testing.T, w *world, _ *datadriven.TestData) { w.say("%d", len(w.graph.nodes)) },
}

func parsePath(t *testing.T, path string) (kind kinds.Kind, namespace, name string) {
	parts := strings.Split(path, "/")
	if len(parts) != 3 {
		t.Fatalf("path %q", path)
	}
	return kindNamed(t, parts[0]), parts[1], parts[2]
}

func doCreate(t *testing.T, w *world, d *datadriven.TestData) {
	for line := range strings.Lines(d.Input) {
		fields := strings.Fields(line)
		kind, namespace, name := parsePath(t, fields[0])
		o := &Object{Kind: kind.Kind, Namespace: namespace, Name: name, UID: types.UID(name)}
		if live, ok := w.stored[fields[0]]; ok {
			o.UID, o.Deleting = live.UID, live.Deleting
		}
		for _, field := range fields[1:] {
			key, value, _ := strings.Cut(field, "=")
			switch key {
			case "owner":
				o.Owners = append(o.Owners, parseOwner(t, value))
			case "finalizer":
				o.Finalizers = append(o.Finalizers, value)
			case "uid":
				o.UID = types.UID(value)
			default:
				t.Fatalf("field %q", field)
			}
		}
		w.put(o)
	}
}

// parseOwner reads kind/name[:uid][!]; the UID of an object is its name by default.
func parseOwner(t *testing.T, text string) metav1.OwnerReference {
	text, blocks := strings.CutSuffix(text, "!")
	place, uid, hasUID := strings.Cut(text, ":")
	kindName, name, _ := strings.Cut(place, "/")
	kind := kinds.Kind{}
	if kindName == "alien" {
		kind.Kind.Group, kind.Kind.Version, kind.Kind.Kind = "alien.example", "v1", "Alien"
	} else {
		kind = kindNamed(t, kindName)
	}
	if !hasUID {
		uid = name
	}
	return metav1.OwnerReference{
		APIVersion: kind.Kind.GroupVersion().String(), Kind: kind.Kind.Kind, Name: name, UID: types.UID(uid),
		BlockOwnerDeletion: &blocks,
	}
}

func deleting(policy metav1.DeletionPropagation) func(*testing.T, *world, *datadriven.TestData) {
	return func(t *testing.T, w *world, d *datadriven.TestData) {
		for path := range strings.FieldsSeq(d.Input) {
			o, ok := w.stored[path]
			if !ok {
				d.Fatalf(t, "no %s", path)
			}
			w.delete(o, policy)
		}
	}
}

func doKinds(t *testing.T, w *world, d *datadriven.TestData) {
	var without string
	d.MaybeScanArgs(t, "without", &without)
	list := slices.DeleteFunc(slices.Clone(allKinds), func(k kinds.Kind) bool { return k.Resource.Resource == without })
	for _, k := range allKinds {
		if k.Resource.Resource == without {
			w.take(w.graph.Forget(k.Kind.GroupKind()))
		}
	}
	for _, uid := range w.graph.SetKinds(list) {
		w.Add(uid)
	}
}

func doRefuse(t *testing.T, w *world, d *datadriven.TestData) {
	var verb string
	d.ScanArgs(t, "verb", &verb)
	w.refuse[verb] = errors.New("the server is busy")
}

func doList(_ *testing.T, w *world, _ *datadriven.TestData) {
	for _, path := range slices.Sorted(maps.Keys(w.stored)) {
		o := w.stored[path]
		line := path
		if len(o.Owners) > 0 {
			line += " owners=" + ownersText(o.Owners)
		}
		if len(o.Finalizers) > 0 {
			line += fmt.Sprintf(" finalizers=%v", o.Finalizers)
		}
		if o.Deleting {
			line += " deleting"
		}
		w.say("%s", line)
	}
}
