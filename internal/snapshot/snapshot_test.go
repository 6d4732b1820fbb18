package snapshot_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/snapshot"
)

func pod(namespace, name string) *core.Pod {
	p := &core.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: "u",
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "s3cret"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	p.Spec.SchedulerName = "default-scheduler"
	p.Spec.Containers = []corev1.Container{
		{Name: "c", Image: "pause", Args: []string{"s3cret"}, Env: []corev1.EnvVar{{Name: "A", Value: "s3cret"}}},
	}
	return p
}

func take(objects ...runtime.Object) *snapshot.Snapshot {
	s := snapshot.New(metav1.NewTime(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)), snapshot.Server{Version: "v1.37.2"})
	for _, object := range objects {
		if !s.Put(object) {
			panic("a Snapshot has no such kind")
		}
	}
	return s
}

// A file does not depend on the order in which objects were added, and is read as it was written.
func TestFiles(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	a := func() *snapshot.Snapshot { return take(node.DeepCopy(), pod("a", "x"), pod("b", "a"), pod("a-b", "y")) }
	b := func() *snapshot.Snapshot { return take(pod("a-b", "y"), pod("b", "a"), pod("a", "x"), node.DeepCopy()) }
	for _, format := range []snapshot.Format{snapshot.Compressed, snapshot.JSON, snapshot.YAML} {
		var one, other bytes.Buffer
		if err := a().Write(&one, format); err != nil {
			t.Fatal(err)
		}
		if err := b().Write(&other, format); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), other.Bytes()) {
			t.Errorf("format %d: files differ", format)
		}
		if strings.Contains(one.String(), "s3cret") || strings.Contains(one.String(), "managedFields") {
			t.Errorf("format %d: the file has what does not decide", format)
		}
		read, err := snapshot.Read(&one)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a().Objects, read.Objects); diff != "" {
			t.Errorf("format %d: %s", format, diff)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"", `kind is ""`},
		{"{", "not a snapshot"},
		{"\x1f\x8b", "not a snapshot"},
		{"kind: Pod", `kind is "Pod"`},
		{"kind: Snapshot\napiVersion: snapshot.allot.dev/v9", "this allot reads snapshot.allot.dev/v1alpha1"},
	} {
		if _, err := snapshot.Read(strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.file, err, c.want)
		}
	}
}

// Objects are replaced and removed by name.
func TestPutAndDelete(t *testing.T) {
	s := take(pod("a", "x"), pod("a", "y"))
	moved := pod("a", "x")
	moved.Spec.NodeName = "n"
	s.Put(moved)
	if !s.Delete(pod("a", "y")) || s.Delete(pod("a", "z")) {
		t.Error("the wrong pods were removed")
	}
	if pods := s.Objects.Pods; len(pods) != 1 || pods[0].Spec.NodeName != "n" {
		t.Errorf("pods = %v", pods)
	}
	if s.Put(&corev1.Secret{}) {
		t.Error("a Snapshot must have no Secrets")
	}
}

// The State has the pods of one scheduler as its own.
func TestState(t *testing.T) {
	s := take(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, pod("a", "x"))
	for name, foreign := range map[string]bool{"default-scheduler": false, "other": true} {
		state, err := s.State(name)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := state.Pods.Get(model.Key{Namespace: "a", Name: "x"})
		if !ok || p.Foreign != foreign {
			t.Errorf("scheduler %s: pod %+v", name, p)
		}
	}
}
