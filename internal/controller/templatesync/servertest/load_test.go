package servertest

import (
	"testing"
	"time"

	"github.com/allot-dev/allot/internal/controller/templatesync"
)

// TestIdle checks that no requests are sent once all copies are up to date, also after a restart.
func TestIdle(t *testing.T) {
	start(t, templatesync.Options{})
	newNamespaces(t, 20)
	newOriginal(t, "idle", "gpu.example.com")
	awaitStatus(t, "idle", "20/20/0 InStep")
	again := start(t, templatesync.Options{})
	quiet := func(c call) bool { return c.verb != "watch" && c.verb != "list" }
	time.Sleep(2 * time.Second) // the absence of requests can only be seen after a while
	if n := again.count(quiet); n != 0 {
		t.Errorf("%d requests with nothing to do", n)
	}
	if n := again.count(func(call) bool { return true }); n > 6 {
		t.Errorf("%d lists and watches of three kinds", n)
	}
}

// TestLimit changes an original of 100 namespaces at 50 requests a second: two requests a namespace
// and one dry run take four seconds, and a new namespace does not wait for the others.
func TestLimit(t *testing.T) {
	const namespaces, qps, burst = 100, 50, 10
	newNamespaces(t, namespaces)
	unlimited := start(t, templatesync.Options{})
	newOriginal(t, "limited", "old.example.com")
	awaitStatus(t, "limited", "100/100/0 InStep")
	unlimited.end()

	w := start(t, templatesync.Options{QPS: qps, Burst: burst})
	writes := templates("create", "delete", "patch", "get")
	began := time.Now()
	changeClass(t, "limited", "new.example.com")
	eventually(t, "it has begun", func() bool { return w.count(writes) > 2*burst })
	born := time.Now()
	fresh := newNamespaces(t, 1)[0]
	already := w.count(writes)
	eventually(t, "the new namespace has its copy", func() bool { return classOf(t, fresh, "limited") != "" })
	waited := time.Since(born)
	awaitStatus(t, "limited", "101/101/0 InStep")
	took := w.lastWrite().Sub(began)
	t.Logf("%d namespaces at %d requests a second: %s; a new namespace had its copy after %s", namespaces, qps,
		took.Round(time.Millisecond), waited.Round(time.Millisecond))
	if n := w.count(writes); n != 2*namespaces+2 { // the dry run, and the new namespace
		t.Errorf("%d requests, want two a namespace and two more", n)
	}
	if more := w.countBefore(fresh, writes) - already; more > namespaces/2 { // of 160 or so that were left
		t.Errorf("the new namespace came after %d other requests", more)
	}
	if least := time.Duration(2*namespaces-burst) * time.Second / qps; took < least*9/10 {
		t.Errorf("took %s, want %s at least", took, least)
	}
}

// TestThousandNamespaces creates and changes an original of 1,000 namespaces, and checks the number
// of requests on which the time depends.
func TestThousandNamespaces(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 1,000 namespaces")
	}
	const namespaces = 1000
	newNamespaces(t, namespaces)
	w := start(t, templatesync.Options{})
	writes := templates("create", "delete", "patch", "get")
	first := time.Now()
	began := first
	newOriginal(t, "many", "old.example.com")
	awaitStatus(t, "many", "1000/1000/0 InStep")
	made := w.count(writes)
	t.Logf("made in %s with %d requests", w.lastWrite().Sub(began).Round(time.Millisecond), made)
	began = time.Now()
	changeClass(t, "many", "new.example.com")
	awaitStatus(t, "many", "1000/1000/0 InStep")
	changed := w.count(writes) - made
	t.Logf("changed in %s with %d requests", w.lastWrite().Sub(began).Round(time.Millisecond), changed)
	if made != namespaces || changed < 2*namespaces || changed > 2*namespaces+1 {
		t.Errorf("%d requests to make the copies and %d to change them", made, changed)
	}
	statuses := w.count(func(c call) bool { return c.resource == "clusterresourceclaimtemplates/status" })
	if most := int(2*time.Since(first).Seconds()) + 5; statuses > most { // two a second
		t.Errorf("%d writes of the status, want %d at most", statuses, most)
	}
}
