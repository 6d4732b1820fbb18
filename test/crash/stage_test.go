package crash

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/internal/testkit/memserver"
)

const (
	namespace = "default"
	// calm is for how long nothing is written when everything is at rest; longer where it is not known what that looks like, as
	// a half-bound gang that cannot be finished is rolled back after ten seconds.
	calm, longCalm = 5 * time.Second, 15 * time.Second
	// patience is within what time everything is at rest. It has to do with the product's own waiting: ten seconds before a
	// half-bound gang is rolled back, backoffs, and the lag of caches.
	patience = 40 * time.Second
)

// stage is where a play is played once.
type stage struct {
	*testing.T
	server  *memserver.Server
	wire    *wire
	parts   map[string]*part
	people  dynamic.Interface
	ends    int       // how often victims have ended
	gone    bool      // they have, and are not back or will not end again
	back    time.Time // when they come back; zero before and after
	slowest time.Duration
}

// newStage has all parts run on what the server has.
func newStage(t *testing.T, server *memserver.Server, f fault) *stage {
	s := &stage{T: t, server: server, wire: &wire{fault: f}, parts: map[string]*part{}}
	var err error
	if s.people, err = dynamic.NewForConfig(server.Config(nil)); err != nil {
		t.Fatal(err)
	}
	s.startAll(allParts)
	return s
}

func (s *stage) startAll(names []string) {
	for _, name := range names {
		p, err := startPart(s.server, s.wire, name)
		if err != nil {
			s.Fatal(err)
		}
		s.parts[name] = p
	}
	synctest.Wait()
}

func (s *stage) endAll(names []string) {
	for _, name := range names {
		if p := s.parts[name]; p != nil {
			p.end()
			delete(s.parts, name)
		}
	}
}

// act does what people do.
func (s *stage) act(a act) {
	switch a.cmd {
	case "apply":
		for _, text := range strings.Split(a.input, "\n---\n") {
			s.apply(text)
		}
	case "delete":
		for _, what := range strings.Fields(a.input) {
			resource, name, _ := strings.Cut(what, "/")
			err := s.resource(schema.ParseGroupResource(resource)).Delete(context.Background(), name,
				metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
			if err != nil && !apierrors.IsNotFound(err) {
				s.Fatalf("delete %s: %v", what, err)
			}
		}
	default:
		s.Fatalf("no act %q", a.cmd)
	}
}

func (s *stage) apply(text string) {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		s.Fatal(err)
	}
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	var err error
	if clusterWide[object.GetKind()] {
		_, err = s.people.Resource(resource).Create(context.Background(), object, metav1.CreateOptions{})
	} else {
		_, err = s.people.Resource(resource).Namespace(namespace).Create(context.Background(), object, metav1.CreateOptions{})
	}
	if err != nil {
		s.Fatalf("create %s: %v", object.GetName(), err)
	}
}

var clusterWide = map[string]bool{"Namespace": true, "DeviceClass": true, "PriorityClass": true}

func (s *stage) resource(r schema.GroupResource) dynamic.ResourceInterface {
	version := "v1"
	if r.Group == "scheduling.k8s.io" {
		version = "v1beta1"
	}
	return s.people.Resource(r.WithVersion(version)).Namespace(namespace)
}

// look has the victims leave when the fault has struck, and come back when it is time.
func (s *stage) look(last bool) {
	synctest.Wait()
	victims := s.wire.fault.victims
	if !s.gone && !s.wire.fault.live && s.wire.hasStruck() {
		s.gone = true
		s.ends++
		s.endAll(victims)
		s.back = time.Now().Add(s.wire.fault.down)
	}
	if !s.back.IsZero() && !time.Now().Before(s.back) && (last || !s.wire.fault.late) {
		s.back = time.Time{}
		if next := s.wire.fault.then; next != nil {
			s.wire, s.gone = &wire{fault: *next}, false
		}
		s.startAll(victims)
	}
}

// rest waits until what is there is wanted, or anything, and nothing happens any more. It gives false when the victims are away and stay so.
func (s *stage) rest(wanted string, last bool) bool {
	began, written, enough := time.Now(), s.server.Revision(), calm
	if wanted == "" {
		enough = longCalm
	}
	for quiet := time.Duration(0); ; {
		s.look(last)
		if !s.back.IsZero() {
			if s.wire.fault.late && !last {
				return false
			}
			began = time.Now()
		}
		if now := s.server.Revision(); now != written || !s.back.IsZero() {
			written, quiet = now, 0
		}
		if quiet >= enough && (wanted == "" || wanted == s.summary()) {
			s.slowest = max(s.slowest, time.Since(began)-quiet)
			return true
		}
		if time.Since(began) > patience {
			s.Errorf("no rest within %s:\n%s\nwant\n%s", patience, s.summary(), wanted)
			return true
		}
		time.Sleep(250 * time.Millisecond)
		quiet += 250 * time.Millisecond
	}
}

// curtain ends everything.
func (s *stage) curtain() {
	s.endAll(allParts)
	time.Sleep(time.Minute) // until all timers have gone, which nobody waits for
}
