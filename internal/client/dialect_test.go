package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// groupSpecs are the spec of a PodGroup of one Workload, with a claim, in each version.
var groupSpecs = map[string]string{
	"scheduling.k8s.io/v1beta1":  `{"workloadRef": {"workloadName": "w", "templateName": "t"}, "disruptionMode": {"all": {}}, "schedulingPolicy": {"gang": {"minCount": 2}}, "resourceClaims": [{"name": "c", "resourceClaimName": "x"}]}`,
	"scheduling.k8s.io/v1alpha2": `{"podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}, "disruptionMode": "PodGroup", "schedulingPolicy": {"gang": {"minCount": 2}}, "resourceClaims": [{"name": "c", "resourceClaimName": "x"}]}`,
}

// foreign is a server with one PodGroup, and one pod with its label.
type foreign struct {
	version string
	written []string
}

func (f *foreign) group() string {
	spec, ok := groupSpecs[f.version]
	if !ok {
		spec = groupSpecs["scheduling.k8s.io/v1beta1"]
	}
	return fmt.Sprintf(
		`{"apiVersion": %q, "kind": "PodGroup", "metadata": {"namespace": "ns", "name": "g", "uid": "u", "resourceVersion": "1"}, "spec": %s}`,
		f.version, spec,
	)
}

func (f *foreign) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	groups := "/apis/" + f.version + "/namespaces/ns/podgroups"
	pod := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"allot.dev/pod-group": "g"}}}`
	switch r.Method + " " + r.URL.Path {
	case "GET " + groups + "/g":
		fmt.Fprint(w, f.group())
	case "GET " + groups:
		if r.URL.Query().Get("watch") != "" {
			fmt.Fprintf(w, `{"type": "ADDED", "object": %s}`+"\n", f.group())
			return
		}
		item := strings.Replace(f.group(), fmt.Sprintf(`"apiVersion": %q, "kind": "PodGroup", `, f.version), "", 1)
		fmt.Fprintf(w, `{"apiVersion": %q, "kind": "PodGroupList", "metadata": {}, "items": [%s]}`, f.version, item)
	case "PUT " + groups + "/g/status", "PATCH " + groups + "/g/status", "PATCH " + groups + "/g":
		body, _ := io.ReadAll(r.Body)
		f.written = append(f.written, r.Header.Get("Content-Type")+" "+string(body))
		fmt.Fprint(w, f.group())
	case "GET /api/v1/pods":
		fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [%s]}`, pod)
	case "GET /apis/resource.k8s.io/v1beta2/devicetaintrules/r":
		fmt.Fprint(
			w,
			`{"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": {"deviceSelector": {"pool": "p"}, "taint": {"key": "k", "effect": "NoSchedule"}}}`,
		)
	default:
		http.Error(w, r.Method+" "+r.URL.Path, http.StatusNotFound)
	}
}

func dial(t *testing.T, f *foreign) *Set {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	gv, err := schema.ParseGroupVersion(f.version)
	if err != nil {
		t.Fatal(err)
	}
	set, err := NewFor(&rest.Config{Host: server.URL}, Dialect{Groups: gv, TaintRules: resourcev1beta2.SchemeGroupVersion})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Whatever version the server has, the caches have the hub version, and events and owner references
// have the server's.
func TestGroupsOfEachVersionAreRead(t *testing.T) {
	for _, gv := range GroupVersions() {
		t.Run(strings.ReplaceAll(gv.String(), "/", "_"), func(t *testing.T) {
			f := &foreign{version: gv.String()}
			set := dial(t, f)
			check := func(how string, group *scheduling.PodGroup, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(how, err)
				}
				spec := group.Spec
				if group.Name != "g" || spec.WorkloadRef == nil || spec.WorkloadRef.TemplateName != "t" ||
					spec.DisruptionMode.All == nil ||
					spec.SchedulingPolicy.Gang.MinCount != 2 ||
					*spec.ResourceClaims[0].ResourceClaimName != "x" {
					t.Errorf("%s: %+v", how, group)
				}
				if gv.String() != "scheduling.k8s.io/v1beta1" && (group.APIVersion != gv.String() || group.Kind != "PodGroup") {
					t.Errorf("%s: bears %s %s", how, group.APIVersion, group.Kind)
				}
			}
			groups := set.PodGroups("ns")
			got, err := groups.Get(t.Context(), "g", metav1.GetOptions{})
			check("get", got, err)
			list, err := groups.List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 1 {
				t.Fatal(list, err)
			}
			check("list", &list.Items[0], nil)
			w, err := groups.Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			event := <-w.ResultChan()
			w.Stop()
			group, ok := event.Object.(*scheduling.PodGroup)
			if !ok {
				t.Fatalf("watched %+v", event)
			}
			check("watch", group, nil)
		})
	}
}

func TestGroupsAreWrittenInTheVersionOfTheServer(t *testing.T) {
	for _, version := range []string{"scheduling.k8s.io/v1alpha2", "allot.dev/v1alpha1"} {
		f := &foreign{version: version}
		groups := dial(t, f).PodGroups("ns")
		group, err := groups.Get(t.Context(), "g", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		group.Status.Conditions = []metav1.Condition{{Type: "T"}}
		if _, err := groups.UpdateStatus(t.Context(), group, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := groups.Patch(t.Context(), "g", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{},
			"status"); err != nil {
			t.Fatal(err)
		}
		if len(f.written) != 2 {
			t.Fatalf("%s: written %q", version, f.written)
		}
		if version == "allot.dev/v1alpha1" { // others are written as protobuf
			var put struct{ APIVersion, Kind string }
			_, body, _ := strings.Cut(f.written[0], " ")
			if err := json.Unmarshal([]byte(body), &put); err != nil || put.APIVersion != version || put.Kind != "PodGroup" {
				t.Errorf("wrote %s: %v", f.written[0], err)
			}
		} else if !strings.Contains(f.written[0], version) {
			t.Errorf("wrote %q, want %s", f.written[0], version)
		}
	}
}

// The label has a meaning only where PodGroups are allot's own.
func TestPodsJoinByLabel(t *testing.T) {
	for version, joins := range map[string]bool{"allot.dev/v1alpha1": true, "scheduling.k8s.io/v1alpha3": false} {
		pods, err := dial(t, &foreign{version: version}).Pods("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := groupName(&pods.Items[0]); (got == "g") != joins {
			t.Errorf("%s: the pod is in %q", version, got)
		}
	}
}

func groupName(pod *core.Pod) string {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return *g.PodGroupName
	}
	return ""
}

func TestTaintRulesOfAnOlderVersionAreRead(t *testing.T) {
	rule, err := dial(t, &foreign{version: "allot.dev/v1alpha1"}).DeviceTaintRules().Get(
		t.Context(),
		"r",
		metav1.GetOptions{},
	)
	if err != nil || *rule.Spec.DeviceSelector.Pool != "p" || rule.Spec.Taint.Key != "k" {
		t.Errorf("%+v, %v", rule, err)
	}
}

func TestUnknownVersionsAreRefused(t *testing.T) {
	for _, d := range []Dialect{{Groups: schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v9"}},
		{TaintRules: schema.GroupVersion{Group: "x", Version: "v1"}}} {
		if _, err := NewFor(&rest.Config{}, d); err == nil {
			t.Errorf("%+v is taken", d)
		}
	}
}

// The cache of a kind that the server does not have syncs immediately, without objects.
func TestAbsentKindsAreEmpty(t *testing.T) {
	set := dial(t, &foreign{version: "allot.dev/v1alpha1"})
	caches := NewInformers(set).Without("podgroups")
	groups := caches.PodGroups()
	caches.Start(t.Context())
	if err := caches.WaitForSync(t.Context()); err != nil || len(groups.List()) != 0 || caches.Has("podgroups") ||
		!caches.Has("pods") {
		t.Errorf("groups %v, %v", groups.List(), err)
	}
}

// Fields of a newer server are preserved: a write is a patch of the fields that allot owns, for
// this version of the object.
func TestNewerServersKeepTheirFields(t *testing.T) {
	f := &foreign{version: "scheduling.k8s.io/v1beta1"}
	server := httptest.NewServer(f)
	defer server.Close()
	set, err := NewFor(&rest.Config{Host: server.URL}, Dialect{Newer: true})
	if err != nil {
		t.Fatal(err)
	}
	group, err := set.PodGroups("ns").Get(t.Context(), "g", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	group.Status.Conditions = []metav1.Condition{{Type: "T", Status: "True", Reason: "R"}}
	if _, err := set.PodGroups("ns").UpdateStatus(t.Context(), group, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	group.Finalizers = nil
	if _, err := set.PodGroups("ns").Update(t.Context(), group, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`application/merge-patch+json {"metadata":{"resourceVersion":"1","uid":"u"},"status":{"conditions":[{"lastTransitionTime":null,"message":"","reason":"R","status":"True","type":"T"}],"resourceClaimStatuses":null}}`,
		`application/merge-patch+json {"metadata":{"finalizers":null,"resourceVersion":"1","uid":"u"}}`,
	}
	if diff := cmp.Diff(want, f.written); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
