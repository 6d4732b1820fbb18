package apiserver_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/etcd"
)

// TestWorkloadsOf135 checks that Workloads that Kubernetes 1.35 has stored can be read and changed
// (R46). test/peer/cluster does this with everything that 1.37 can still read.
func TestWorkloadsOf135(t *testing.T) {
	cfg := apiserver.Config{DataDir: t.TempDir(), UnsafeNoFsync: true}
	putStored(t, cfg.DataDir, map[string]string{
		"/registry/workloads/namespaceValue/nameValue": fixtureOf(t, "v1.35.0/scheduling.k8s.io.v1alpha1.Workload.pb"),
		"/registry/workloads/default/text": `{"apiVersion":"scheduling.k8s.io/v1alpha1","kind":"Workload",
			"metadata":{"name":"text","namespace":"default","uid":"1"},"spec":{"podGroups":[{"name":"workers","policy":{"gang":{"minCount":3}}}]}}`,
	})
	server := startServer(t, cfg)
	client := clientset(t, server.Loopback()).SchedulingV1beta1()
	list, err := client.Workloads("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]schedulingv1beta1.WorkloadSpec{}
	for i := range list.Items {
		got[list.Items[i].Name] = list.Items[i].Spec
	}
	groups := func(name string, policy schedulingv1beta1.PodGroupSchedulingPolicy) []schedulingv1beta1.PodGroupTemplate {
		return []schedulingv1beta1.PodGroupTemplate{{Name: name, SchedulingPolicy: policy}}
	}
	want := map[string]schedulingv1beta1.WorkloadSpec{
		"nameValue": {
			ControllerRef: &schedulingv1beta1.TypedLocalObjectReference{
				APIGroup: "apiGroupValue",
				Kind:     "kindValue",
				Name:     "nameValue",
			},
			PodGroupTemplates: groups("nameValue", schedulingv1beta1.PodGroupSchedulingPolicy{
				Basic: &schedulingv1beta1.BasicSchedulingPolicy{}, Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 1},
			}),
		},
		"text": {
			PodGroupTemplates: groups("workers",
				schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 3}}),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text, err := client.Workloads("default").Get(t.Context(), "text", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text.Labels = map[string]string{"changed": "yes"}
	if _, err := client.Workloads("default").Update(t.Context(), text, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
}

// fixtureOf returns an object as a release of Kubernetes stored it.
func fixtureOf(t *testing.T, name string) string {
	t.Helper()
	return readFile(t, filepath.Join(fixtures(t), filepath.FromSlash(name)))
}

// fixtures returns the directory in which k8s.io/api has objects of each release.
func fixtures(t *testing.T) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "testdata")
}

// putStored writes into a data directory as another API server would.
func putStored(t *testing.T, dir string, objects map[string]string) {
	t.Helper()
	member, err := etcd.Start(t.Context(), etcd.Options{Dir: filepath.Join(dir, "etcd"), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	for key, object := range objects {
		if _, err := member.Client().Put(t.Context(), key, object); err != nil {
			t.Fatal(err)
		}
	}
}
