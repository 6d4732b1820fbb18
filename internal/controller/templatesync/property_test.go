package templatesync

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

// TestAnythingEndsInStep changes namespaces, originals, copies and users' own templates at random,
// between and during the controller's steps, with caches that lag, requests that fail, and
// restarts. In the end the templates are as a naive implementation of the rules says, no template
// without the controller's label was ever written, and a second pass writes nothing.
func TestAnythingEndsInStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		u := &user{T: t, world: w}
		w.interval = func(string) { // a user acts between deletion and creation
			if rapid.IntRange(0, 5).Draw(t, "interrupt") == 0 {
				u.act()
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "acts") {
			u.act()
			if rapid.Bool().Draw(t, "work") {
				u.step()
			}
		}
		w.interval, w.lags, w.broken, w.sound = func(string) {}, false, 0, 0
		for range 10 { // more passes than there are dependencies between deletions and creations
			w.collectGarbage()
			w.clock.SetTime(w.clock.Now().Add(awaited))
			w.work()
		}
		u.check()
		w.log = nil
		for name := range w.view.namespaces {
			w.due[name] = true
		}
		w.work()
		if text := w.flush(); text != "nothing\n" {
			t.Errorf("once more, in step: %s", text)
		}
	})
}

// user makes random changes.
type user struct {
	*rapid.T
	*world
}

// The number of names is small, so that objects interact.
func (u *user) pick(what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(u.T, what)
}

func (u *user) act() {
	namespace := u.pick("namespace", "a", "b", "c")
	original := u.pick("original", "o1", "o2", "o3")
	key := namespace + "/" + u.pick("copy", "o1", "o2", "x")
	switch u.pick("act", "namespace", "namespace", "terminate", "original", "original", "original",
		"gone", "template", "template", "delete", "strip", "strip", "collect", "lag", "fail") {
	case "namespace":
		if w := u.namespaces[namespace]; w == nil || w.DeletionTimestamp == nil {
			u.put(
				slices.DeleteFunc([]string{"namespace", namespace, u.pick("label", "", "k=v", "k=w")},
					func(s string) bool { return s == "" }),
			)
		}
	case "terminate":
		u.terminate(namespace)
	case "original":
		u.put([]string{
			"original", original, "content=" + u.pick("content", "c1", "c2"), "name=" + u.pick("name", "", "x", "o1"),
			"select=" + u.pick("select", "", "k:v", "k:w"),
		})
	case "gone":
		u.deleteObjects([]string{"original", original})
	case "template":
		if w := u.namespaces[namespace]; w != nil && w.DeletionTimestamp == nil {
			u.put([]string{"template", key, "content=" + u.pick("content", "c1", "c2", "mine"), "by=kubectl"})
		}
	case "delete":
		u.deleteObjects([]string{"template", key})
	case "strip":
		if u.templates[key] != nil {
			u.strip(key, []datadriven.CmdArg{{Key: u.pick("mark", "label", "annotations", "owner", "managed")}})
		}
	case "collect":
		u.collectGarbage()
	case "lag":
		u.lags = !u.lags
	case "fail":
		u.broken, u.sound = rapid.IntRange(0, 2).Draw(u.T, "broken"), rapid.IntRange(0, 2).Draw(u.T, "sound")
	}
}

// terminate deletes a namespace: the first call makes it terminating, the second removes it with
// its objects.
func (u *user) terminate(name string) {
	namespace := u.namespaces[name]
	switch {
	case namespace == nil:
	case namespace.DeletionTimestamp == nil:
		u.put([]string{"namespace", name, "deleting"})
	default:
		u.deleteObjects([]string{"namespace", name})
		maps.DeleteFunc(u.templates, func(key string, _ *template) bool { return strings.HasPrefix(key, name+"/") })
	}
}

// step is one step of the controller, or a restart.
func (u *user) step() {
	u.follow()
	if u.pick("step", "work", "work", "work", "restart") == "restart" {
		u.restart()
	}
	for _, name := range take(u.due) {
		if err := u.Reconcile(context.Background(), name); err != nil {
			u.due[name] = true
		}
		if rapid.Bool().Draw(u.T, "follow") {
			u.follow()
		}
	}
}

// check compares with a naive implementation of the rules.
func (u *user) check() {
	for name, namespace := range u.namespaces {
		if namespace.DeletionTimestamp != nil {
			continue
		}
		wanted := u.wantedCopies(namespace)
		for copyName, o := range wanted {
			t := u.templates[name+"/"+copyName]
			switch {
			case t == nil:
				u.Errorf("%s/%s is missing", name, copyName)
			case isUnmarked(t):
				delete(wanted, copyName) // a user's own template
			case u.isOrphan(t):
			case contentOf(t) != o.Spec.Spec.Devices.Requests[0].Exactly.DeviceClassName ||
				t.Annotations[UIDAnnotation] != string(o.UID) ||
				!metav1.IsControlledBy(t, o) || t.Labels[Label] != o.Name:
				u.Errorf("%s/%s is %s with %v, want one of %s", name, copyName, describe(t), t.ObjectMeta, o.Name)
			}
		}
		for key, t := range u.templates {
			if t.Namespace == name && wanted[t.Name] == nil && !isUnmarked(t) && !u.isOrphan(t) {
				u.Errorf("%s is not wanted, but is there: %s", key, describe(t))
			}
		}
	}
}

// wantedCopies returns which original must have which copy in a namespace.
func (u *user) wantedCopies(namespace *metav1.ObjectMeta) map[string]*allotv1alpha1.ClusterResourceClaimTemplate {
	wanted := map[string]*allotv1alpha1.ClusterResourceClaimTemplate{}
	for _, o := range u.originals {
		name := o.Spec.NameOverride
		if name == "" {
			name = o.Name
		}
		if s := o.Spec.NamespaceSelector; s != nil &&
			!labels.SelectorFromSet(s.MatchLabels).Matches(labels.Set(namespace.Labels)) {
			continue
		}
		if other := wanted[name]; other == nil || o.CreationTimestamp.Before(&other.CreationTimestamp) {
			wanted[name] = o
		}
	}
	return wanted
}

func isUnmarked(t *template) bool {
	return t.Annotations[UIDAnnotation] == "" && metav1.GetControllerOf(t) == nil
}

// isOrphan reports whether a copy remains of an original that was deleted, because a user removed the
// owner reference.
func (u *user) isOrphan(t *template) bool {
	for _, o := range u.originals {
		if types.UID(t.Annotations[UIDAnnotation]) == o.UID || metav1.IsControlledBy(t, o) ||
			t.Labels[Label] == o.Name && t.Annotations[UIDAnnotation] != "" {
			return false
		}
	}
	return true
}

// TestDecideDoesNotDependOnOrder shuffles the arguments of Decide.
func TestDecideDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		u := &user{T: t, world: w}
		for range rapid.IntRange(1, 20).Draw(t, "acts") {
			u.act()
		}
		w.lags = false
		w.follow()
		for _, namespace := range w.view.namespaces {
			plan := func(shuffle bool) string {
				originals := slices.SortedFunc(maps.Values(w.view.originals), (*Original).goesBefore)
				copies := slices.SortedFunc(maps.Values(w.view.copies),
					func(a, b *Copy) int { return strings.Compare(a.Name, b.Name) })
				copies = slices.DeleteFunc(copies, func(c *Copy) bool { return c.Namespace != namespace.Name })
				if shuffle {
					originals, copies = rapid.Permutation(originals).Draw(t, "originals"), rapid.Permutation(copies).Draw(t, "copies")
				}
				return fmt.Sprint(Decide(namespace, originals, copies))
			}
			if sorted, shuffled := plan(false), plan(true); sorted != shuffled {
				t.Errorf("%s\nand shuffled\n%s", sorted, shuffled)
			}
		}
	})
}
