package cluster

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// forgotten are versions that Kubernetes 1.37 does not read either. Workloads of v1alpha1 are read
// here: see internal/apiserver/stored_test.go.
var forgotten = []string{"apps/v1beta1", "apps/v1beta2", "scheduling.k8s.io/v1alpha1"}

// TestOlderReleases: objects that Kubernetes 1.34 to 1.37 have stored, in each version that they
// had and with all fields set, are served as the API server of 1.37 serves them, and those in a
// version that it does not know any more as they were written (R46). k8s.io/api brings the objects
// along.
func TestOlderReleases(t *testing.T) {
	k, beside := startBoth(t)
	theirs, ours := newReader(t, k.Config), newReader(t, beside)
	keys := map[schema.GroupKind]string{{Group: "scheduling.k8s.io", Kind: "PodGroup"}: "podgroups"}
	for _, s := range stored {
		keys[s.kind.GroupKind()] = s.key
	}
	compared := map[string]int{}
	for _, release := range []string{"v1.34.0", "v1.35.0", "v1.36.0", "HEAD"} {
		t.Run(release, func(t *testing.T) {
			for _, file := range fixtures(t, release) {
				kind := kindOf(file)
				key, ok := keys[kind.GroupKind()]
				if !ok {
					continue
				}
				t.Run(kind.GroupVersion().String()+" "+kind.Kind, func(t *testing.T) {
					if slices.Contains(forgotten, kind.GroupVersion().String()) {
						t.Skip("nobody serves it any more, Kubernetes 1.37 neither")
					}
					compared[release] += oneFixture(t, k, theirs, ours, kind, key, file)
				})
			}
			if compared[release] < 20 {
				t.Errorf("%d answers were compared, which is too little", compared[release])
			}
		})
	}
	t.Logf("answers compared: %v", compared)
}

// oneFixture puts a file of a release into etcd, and compares what the servers make of it; it
// answers in how many versions.
func oneFixture(
	t *testing.T, k *Kubernetes, theirs, ours *reader, kind schema.GroupVersionKind, key, file string,
) (count int) {
	t.Helper()
	object, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const namespace, name = "namespaceValue", "nameValue" // in all of them
	full := "/registry/" + key + "/" + name
	space := ""
	if namespaced(kind.Kind) {
		full, space = "/registry/"+key+"/"+namespace+"/"+name, namespace
	}
	if _, err := k.Etcd.Client().Put(t.Context(), full, string(object)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := k.Etcd.Client().Delete(t.Context(), full, clientv3.WithPrefix()); err != nil {
			t.Error(err)
		}
	}()
	if _, known := theirs.resources[kind]; !known && kind.Version != "v1alpha3" {
		asWritten(t, ours, ours.resources[kind], space, name, strings.TrimSuffix(file, ".pb")+".json")
		return 1
	}
	for served, resource := range theirs.common(ours) {
		if served.GroupKind() == kind.GroupKind() {
			sameAnswer(t, theirs, ours, resource, space, name)
			count++
		}
	}
	return count
}

// asWritten compares what allot serves with what was written.
func asWritten(t *testing.T, ours *reader, resource schema.GroupVersionResource, namespace, name, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// A mode that is none is shown as the default one. No server has ever stored one.
	text = bytes.ReplaceAll(text, []byte("disruptionModeValue"), []byte("Pod"))
	var want unstructured.Unstructured
	if err := json.Unmarshal(text, &want.Object); err != nil {
		t.Fatal(err)
	}
	got, err := ours.client.Resource(resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range []*unstructured.Unstructured{&want, got} {
		obj.SetResourceVersion("")
		obj.SetManagedFields(nil)
	}
	roundTrip(t, &want)
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("(-written +served):\n%s", diff)
	}
}

// roundTrip gives the numbers of an object the types that a client reads them as.
func roundTrip(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	text, err := obj.MarshalJSON()
	if err == nil {
		err = obj.UnmarshalJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fixtures are the files of a release.
func fixtures(t *testing.T, release string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api")
	cmd.Dir = here()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "testdata", release, "*.pb"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no objects of %s: %v", release, err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, "after_roundtrip") })
}

// kindOf reads the name of a file: resource.k8s.io.v1beta1.ResourceClaim.pb, core.v1.Pod.pb.
func kindOf(file string) schema.GroupVersionKind {
	parts := strings.Split(strings.TrimSuffix(filepath.Base(file), ".pb"), ".")
	n := len(parts)
	group := strings.Join(parts[:n-2], ".")
	if group == "core" {
		group = ""
	}
	return schema.GroupVersionKind{Group: group, Version: parts[n-2], Kind: parts[n-1]}
}
