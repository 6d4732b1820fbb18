package history

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"pgregory.net/rapid"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

const hashLabel = "controller-revision-hash"

func withImage(image string) *core.PodTemplateSpec {
	return &core.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       core.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func parent(image string) Parent {
	return Parent{
		Owner: &metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "me", Annotations: map[string]string{
			"kubernetes.io/change-cause": "because", corev1.LastAppliedConfigAnnotation: "{}",
		}},
		Kind: appsv1.SchemeGroupVersion.WithKind("StatefulSet"), Template: withImage(image), HashLabel: hashLabel,
	}
}

func revision(t *testing.T, image string, number int64) *appsv1.ControllerRevision {
	t.Helper()
	r, err := newRevision(parent(image), number)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestChoose(t *testing.T) {
	v1, v2, v3 := revision(t, "v1", 1), revision(t, "v2", 2), revision(t, "v3", 3)
	again := revision(t, "v3", 4)
	again.Name = "again"
	tie := revision(t, "v2", 3)
	last, lastToo := revision(t, "v3", math.MaxInt64), revision(t, "v2", math.MaxInt64)
	for _, tc := range []struct {
		name      string
		image     string
		revisions []*appsv1.ControllerRevision
		same      int
		raised    int64
		number    int64
	}{
		{name: "first", image: "v1", number: 1},
		{name: "unchanged", image: "v3", revisions: []*appsv1.ControllerRevision{v3, v1, v2}, same: 1},
		{name: "new", image: "v4", revisions: []*appsv1.ControllerRevision{v3, v1, v2}, number: 4},
		{name: "back", image: "v1", revisions: []*appsv1.ControllerRevision{v3, v1, v2}, same: 1, raised: 4},
		{name: "twice the same", image: "v3", revisions: []*appsv1.ControllerRevision{again, v3}, same: 2},
		{name: "two with one number", image: "v2", revisions: []*appsv1.ControllerRevision{tie, v3}, same: 1, raised: 4},
		{name: "new, with no number left", image: "v1", revisions: []*appsv1.ControllerRevision{last}, number: math.MaxInt64},
		{name: "back, with no number left", image: "v1", revisions: []*appsv1.ControllerRevision{last, v1}, same: 1,
			raised: math.MaxInt64},
		{name: "back to one with the last number", image: "v2", revisions: []*appsv1.ControllerRevision{lastToo, last},
			same: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			choice, err := Choose(parent(tc.image), tc.revisions)
			if err != nil {
				t.Fatal(err)
			}
			raised := int64(0)
			if choice.Raise != nil {
				raised = choice.Raise.Revision
			}
			if len(choice.Same) != tc.same || raised != tc.raised || choice.Number != tc.number {
				t.Errorf("got %d revisions, raised to %d, new number %d; want %d, %d, %d",
					len(choice.Same), raised, choice.Number, tc.same, tc.raised, tc.number)
			}
		})
	}
	if v1.Revision != 1 {
		t.Error("the cached revision was changed")
	}
}

// Upstream before 1.34 wrote empty fields, which must not start a rollout.
func TestTemplatesAreComparedByMeaning(t *testing.T) {
	old := revision(t, "v1", 1)
	text := strings.Replace(string(old.Data.Raw), `"labels"`, `"creationTimestamp":null,"labels"`, 1)
	if text == string(old.Data.Raw) {
		t.Fatal("nothing replaced")
	}
	old.Data = runtime.RawExtension{Raw: []byte(text)}
	choice, err := Choose(parent("v1"), []*appsv1.ControllerRevision{old})
	if err != nil || len(choice.Same) != 1 {
		t.Errorf("choice %+v, error %v; want the old revision", choice, err)
	}
	broken := revision(t, "v1", 2)
	broken.Data = runtime.RawExtension{Raw: []byte("{")}
	choice, err = Choose(parent("v1"), []*appsv1.ControllerRevision{broken})
	if err != nil || choice.Number != 3 {
		t.Errorf("choice %+v, error %v; want a new revision beside a broken one", choice, err)
	}
}

func TestNewRevision(t *testing.T) {
	r := revision(t, "v1", 7)
	if !metav1.IsControlledBy(r, parent("v1").Owner) || r.Revision != 7 ||
		Hash(r, hashLabel) != strings.TrimPrefix(r.Name, "web-") {
		t.Errorf("revision %+v", r)
	}
	if diff := cmp.Diff(map[string]string{"kubernetes.io/change-cause": "because"}, r.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if got := r.Labels["app"]; got != "web" {
		t.Errorf("label app is %q: kubectl would not find the revision", got)
	}
	delete(r.Labels, hashLabel)
	if Hash(r, hashLabel) != r.Name {
		t.Errorf("hash of a revision without label: %q", Hash(r, hashLabel))
	}
	long := parent("v1")
	long.Owner = &metav1.ObjectMeta{Name: strings.Repeat("x", 253)}
	if r, err := newRevision(long, 1); err != nil || len(r.Name) != 253 {
		t.Errorf("name of %d characters, error %v; want 253", len(r.Name), err)
	}
}

// The patch that kubectl rollout undo applies restores the template of a revision, without fields
// of later ones.
func TestRevisionIsAPatchThatRestoresTheTemplate(t *testing.T) {
	r := revision(t, "v1", 1)
	later := &apps.StatefulSet{Spec: apps.StatefulSetSpec{ServiceName: "web", Template: *withImage("v2")}}
	later.Spec.Template.Spec.NodeName = "added later"
	before, err := json.Marshal(later)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, r.Data.Raw, &apps.StatefulSet{})
	if err != nil {
		t.Fatal(err)
	}
	var restored apps.StatefulSet
	if err := json.Unmarshal(after, &restored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withImage("v1"), &restored.Spec.Template); diff != "" || restored.Spec.ServiceName != "web" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	held, err := Template(r)
	if diff := cmp.Diff(withImage("v1"), held); err != nil || diff != "" {
		t.Errorf("held (-want +got):\n%s, error %v", diff, err)
	}
}

// server stores revisions by name.
type server map[string]*appsv1.ControllerRevision

func (s server) Create(_ context.Context, r *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	if s[r.Name] != nil {
		return nil, apierrors.NewAlreadyExists(appsv1.Resource("controllerrevisions"), r.Name)
	}
	s[r.Name] = r
	return r, nil
}

func (s server) Update(_ context.Context, r *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	s[r.Name] = r
	return r, nil
}

func (s server) Live(_ context.Context, _, name string) (*appsv1.ControllerRevision, error) {
	if s[name] == nil {
		return nil, errors.New("not found")
	}
	return s[name], nil
}

func TestEnsure(t *testing.T) {
	s := server{}
	ctx := context.Background()
	first, err := Ensure(ctx, s, parent("v1"), nil)
	if err != nil || len(s) != 1 || first.Revision().Revision != 1 {
		t.Fatalf("first: %+v, error %v", first, err)
	}
	// The cache does not show it yet: it is found, and not created again.
	same, err := Ensure(ctx, s, parent("v1"), nil)
	if err != nil || len(s) != 1 || same.Revision().Name != first.Revision().Name || same.Collisions != 0 {
		t.Errorf("with a cache that lags: %+v, error %v", same, err)
	}
	// Another owner has its name, so it gets another hash.
	s[first.Revision().Name].OwnerReferences[0].UID = "another"
	other, err := Ensure(ctx, s, parent("v1"), nil)
	if err != nil || len(s) != 2 || other.Collisions != 1 || other.Revision().Name == first.Revision().Name {
		t.Errorf("with a taken name: %+v, error %v", other, err)
	}
	// A rollback to an old template.
	old, newer := revision(t, "v8", 8), revision(t, "v9", 9)
	back, err := Ensure(ctx, s, parent("v8"), []*appsv1.ControllerRevision{old, newer})
	if err != nil || back.Revision() != old || s[old.Name].Revision != 10 {
		t.Errorf("back: %+v, error %v", back, err)
	}
}

func TestSurplus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfDistinct(rapid.Int64Range(1, 30), rapid.ID[int64]).Draw(t, "numbers")
		used := rapid.MapOf(rapid.Int64Range(1, 30), rapid.Just(true)).Draw(t, "used")
		limit := rapid.Int32Range(0, 10).Draw(t, "limit")
		var revisions []*appsv1.ControllerRevision
		for _, n := range numbers {
			revisions = append(revisions, &appsv1.ControllerRevision{Revision: n})
		}
		inUse := func(r *appsv1.ControllerRevision) bool { return used[r.Revision] }
		gone := map[int64]bool{}
		for _, r := range surplus(revisions, inUse, &limit) {
			gone[r.Revision] = true
		}
		for _, r := range revisions {
			newerIdle := 0 // idle ones that are newer and remain
			for _, other := range revisions {
				if other.Revision > r.Revision && !used[other.Revision] {
					newerIdle++
				}
			}
			if want := !used[r.Revision] && newerIdle >= int(limit); gone[r.Revision] != want {
				t.Fatalf("revision %d gone: %v, want %v", r.Revision, gone[r.Revision], want)
			}
		}
		if surplus(revisions, inUse, nil) != nil {
			t.Fatal("without a limit all stay")
		}
	})
}
