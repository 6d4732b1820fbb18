package offline_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/apiserver/offline"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/snapshot"
)

func newServer(t *testing.T) *offline.Server {
	t.Helper()
	scheme, err := apiserver.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	server, err := offline.New(scheme)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func newWorld(t *testing.T, gates string, objects ...client.Object) *snapshot.World {
	t.Helper()
	snap := snapshot.New(metav1.NewTime(time.Unix(0, 0)), snapshot.Server{FeatureGates: gates})
	for _, object := range objects {
		snap.Put(object)
	}
	world, err := snap.World("default-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	return world
}

func decode(t *testing.T, server *offline.Server, manifest string) client.Object {
	t.Helper()
	object, err := server.Decode([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return object
}

const (
	aNamespace = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}`
	aJob       = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"default","uid":"u"},"spec":` +
		`{"completions":2,"parallelism":1,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"pause"}]}}}}`
	aGroup = `{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"name":"g","namespace":"default"},` +
		`"spec":{"schedulingPolicy":{"basic":{}}}}`
)

func TestDecode(t *testing.T) {
	server := newServer(t)
	if _, err := server.Decode([]byte(`{"apiVersion":"example.com/v1","kind":"Thing"}`)); !errors.Is(
		err, offline.ErrUnknownKind,
	) {
		t.Errorf("a custom resource: %v", err)
	}
	_, err := server.Decode([]byte(`{"apiVersion":"v1","kind":"Pod","spec":{"wrong":1}}`))
	if err == nil || !strings.Contains(err.Error(), `unknown field "spec.wrong"`) {
		t.Errorf("an unknown field: %v", err)
	}
	older := decode(t, server, strings.Replace(aGroup, "v1beta1", "v1alpha2", 1))
	if kind := older.GetObjectKind().GroupVersionKind(); kind.Version != "v1beta1" {
		t.Errorf("an older version is decoded as %s", kind)
	}
	if server.Namespaced(decode(t, server, aNamespace)) || !server.Namespaced(older) {
		t.Error("which kinds are in namespaces is wrong")
	}
}

// Objects are rejected for the same reasons as by the server.
func TestCreateRefuses(t *testing.T) {
	server := newServer(t)
	world := newWorld(t, "", decode(t, server, aNamespace))
	for _, c := range []struct{ manifest, want string }{
		{strings.Replace(aJob, `"namespace":"default"`, `"namespace":"none"`, 1), `namespaces "none" not found`},
		{strings.Replace(aJob, `"parallelism":1`, `"parallelism":-1`, 1), "spec.parallelism: Invalid value: -1"},
		{strings.Replace(aJob, `"Never"`, `"Never","priorityClassName":"x y"`, 1), "spec.template.spec.priorityClassName"},
	} {
		if err := server.Create(decode(t, server, c.manifest), world); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	var off features.Set
	if err := off.Set("GenericWorkload=false"); err != nil {
		t.Fatal(err)
	}
	without := newWorld(t, off.String(), decode(t, server, aNamespace))
	err := server.Create(decode(t, server, aGroup), without)
	if err == nil || !strings.Contains(err.Error(), "the feature GenericWorkload is off") {
		t.Errorf("a kind that is off: %v", err)
	}
}

// The fields of a manifest replace those of an object, if they are mutable.
func TestMerge(t *testing.T) {
	server := newServer(t)
	job := decode(t, server, aJob)
	world := newWorld(t, "", decode(t, server, aNamespace))
	if err := server.Create(job, world); err != nil {
		t.Fatal(err)
	}
	merged, err := server.Merge(job, []byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"parallelism":2}}`), world)
	if err != nil {
		t.Fatal(err)
	}
	if merged.GetLabels()["a"] != "b" || merged.GetGeneration() != 2 || merged.GetUID() != "u" {
		t.Errorf("merged: %+v", merged)
	}
	_, err = server.Merge(job, []byte(`{"spec":{"completions":3}}`), world)
	if err == nil || !strings.Contains(err.Error(), "field is immutable") {
		t.Errorf("an immutable field: %v", err)
	}
}
