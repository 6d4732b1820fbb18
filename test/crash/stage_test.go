package crash

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/testkit/memserver"
)

const (
	namespace = "default"
	// calm is for how long nothing is written when everything is at rest.
	calm = 5 * time.Second
)

// stage is where a play is played once.
type stage struct {
	*testing.T
	server *memserver.Server
	wire   *wire
	fault  fault // that waits, or has struck last
	parts  map[string]*part
	people dynamic.Interface
	// longCalm is calm where it is not known what rest looks like: a half-bound gang that cannot be
	// finished is rolled back after ten seconds.
	longCalm time.Duration
	// patience is within what time everything is at rest. It has to do with the product's own waiting:
	// ten seconds before a half-bound gang is rolled back, backoffs, and the lag of caches.
	patience time.Duration
	ends     int       // how often victims have ended
	gone     bool      // they have, and are not back or will not end again
	back     time.Time // when they come back; zero before and after
	slowest  time.Duration
}

// newStage has all parts run on what the server has.
func newStage(t *testing.T, server *memserver.Server, f fault) *stage {
	s := &stage{
		T: t, server: server, wire: newWire(f, server.InterruptPlacement), fault: f, parts: map[string]*part{},
		longCalm: 15 * time.Second, patience: 40 * time.Second,
	}
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
		for text := range strings.SplitSeq(a.input, "\n---\n") {
			if what, ok := strings.CutPrefix(text, "delete "); ok {
				s.act(act{cmd: "delete", input: what}) // while what was applied is acted on
				continue
			}
			s.apply(text)
		}
	case "delete":
		for what := range strings.FieldsSeq(a.input) {
			resource, name, _ := strings.Cut(what, "/")
			err := s.resource(schema.ParseGroupResource(resource)).Delete(context.Background(), name,
				metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
			if err != nil && !apierrors.IsNotFound(err) {
				s.Fatalf("delete %s: %v", what, err)
			}
		}
	case "patch":
		s.patch(a.input)
	case "taint":
		s.taint(a.input)
	default:
		s.Fatalf("no act %q", a.cmd)
	}
}

func (s *stage) apply(text string) {
	s.create(s.parse(text))
}

func (s *stage) parse(text string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		s.Fatal(err)
	}
	return object
}

func (s *stage) create(object *unstructured.Unstructured) {
	s.refer(object)
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

// refer has a claim that is reserved for a pod with the UID "current" name the pod that there is.
func (s *stage) refer(object *unstructured.Unstructured) {
	path := []string{"spec", "reservedFor", "uid"}
	if uid, _, _ := unstructured.NestedString(object.Object, path...); uid != "current" {
		return
	}
	name, _, _ := unstructured.NestedString(object.Object, "spec", "reservedFor", "name")
	pod, err := s.resource(podKind).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	if err := unstructured.SetNestedField(object.Object, string(pod.GetUID()), path...); err != nil {
		s.Fatal(err)
	}
}

var clusterWide = map[string]bool{
	"Namespace":       true,
	"DeviceClass":     true,
	"PriorityClass":   true,
	"DeviceTaintRule": true,
}

// patch changes what the first line names; the others are the change.
func (s *stage) patch(input string) {
	what, change, _ := strings.Cut(input, "\n")
	resource, name, _ := strings.Cut(what, "/")
	text, err := yaml.YAMLToJSON([]byte(change))
	if err != nil {
		s.Fatal(err)
	}
	_, err = s.resource(schema.ParseGroupResource(resource)).Patch(
		context.Background(),
		name,
		types.MergePatchType,
		text,
		metav1.PatchOptions{},
	)
	if err != nil {
		s.Fatalf("patch %s: %v", what, err)
	}
}

// taint makes a DeviceTaintRule for a device that somebody has, if somebody has one.
func (s *stage) taint(text string) {
	rule := s.parse(text)
	if err := unstructured.SetNestedMap(rule.Object, s.device(), "spec", "deviceSelector"); err != nil {
		s.Fatal(err)
	}
	s.create(rule)
}

// device selects the first device of the first claim that has any, or else the first that there is.
func (s *stage) device() map[string]any {
	for _, object := range s.server.Objects(claimKind) {
		if claim := object.(*resource.ResourceClaim); claim.Status.Allocation != nil {
			d := claim.Status.Allocation.Devices.Results[0]
			return map[string]any{"driver": d.Driver, "pool": d.Pool, "device": d.Device}
		}
	}
	slice := s.server.Objects(sliceKind)[0].(*resourcev1.ResourceSlice).Spec
	return map[string]any{"driver": slice.Driver, "pool": slice.Pool.Name, "device": slice.Devices[0].Name}
}

func (s *stage) resource(r schema.GroupResource) dynamic.ResourceInterface {
	version := "v1"
	switch {
	case r == compositeKind:
		version = "v1alpha3"
	case r.Group == "scheduling.k8s.io":
		version = "v1beta1"
	}
	if r.Resource == "devicetaintrules" {
		return s.people.Resource(r.WithVersion(version))
	}
	return s.people.Resource(r.WithVersion(version)).Namespace(namespace)
}

// look has the victims leave when the fault has struck, and come back when it is time.
func (s *stage) look(last bool) {
	synctest.Wait()
	if !s.gone && !s.fault.live && s.wire.hasStruck() {
		s.gone = true
		s.ends++
		if !s.fault.ofServer() {
			s.endAll(s.fault.victims)
		}
		s.back = time.Now().Add(s.fault.down)
	}
	if !s.back.IsZero() && !time.Now().Before(s.back) && (last || !s.fault.late) {
		s.back = time.Time{}
		s.comeBack()
	}
}

// comeBack has the victims come back, and the next fault wait for them.
func (s *stage) comeBack() {
	f := s.fault
	if f.then != nil {
		s.fault, s.gone = *f.then, false
		s.wire.rearm(s.fault)
	}
	if !f.ofServer() {
		s.startAll(f.victims)
		return
	}
	if f.forgets {
		s.server.Forget()
	}
	if err := s.server.Resume(context.Background()); err != nil {
		s.Error(err)
	}
	if f.only != "" {
		s.whole()
	}
	s.wire.serverIsBack()
}

// rest waits until what is there is wanted, or anything, and nothing happens any more. It gives
// false when the victims are away and stay so.
func (s *stage) rest(wanted string, last bool) bool {
	began, written, enough := time.Now(), s.server.Revision(), calm
	if wanted == "" {
		enough = s.longCalm
	}
	var looked uint64 // what was written when it was not yet what is wanted
	for quiet := time.Duration(0); ; {
		s.look(last)
		if !s.back.IsZero() {
			if s.fault.late && !last {
				return false
			}
			began = time.Now()
		}
		if now := s.server.Revision(); now != written || !s.back.IsZero() {
			written, quiet = now, 0
		}
		if quiet >= enough && looked != written {
			if looked = written; wanted == "" || wanted == s.summary() {
				s.slowest = max(s.slowest, time.Since(began)-quiet)
				return true
			}
		}
		if time.Since(began) > s.patience {
			s.Errorf("no rest within %s:\n%s\nwant\n%s", s.patience, s.summary(), wanted)
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
