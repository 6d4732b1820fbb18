package servertest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/testkit/testserver"
)

var server *apiserver.Server

// scenarios is the number of started scenarios, for unique namespaces.
var scenarios atomic.Int64

func TestMain(m *testing.M) {
	generic.SetPolicyRefreshIntervalForTests(10 * time.Millisecond)
	os.Exit(testserver.Main(m, func(_ context.Context, s *apiserver.Server) error {
		server = s
		return nil
	}))
}

// TestScenarios runs the files of testdata. The commands are:
//
//   - webhook PATH: say how reviews at the path are answered, one line each: allow, deny MESSAGE,
//     patch JSON, warn TEXT, hang, status TEXT (an HTTP error) and say TEXT (instead of a review).
//   - config: create objects, and wait until those that configure admission count.
//   - create, update, delete [dry-run] [show=FIELD,…]: send a request for each object. The output
//     has the calls of webhooks, the warnings, the error or the fields.
//
// $NS stands for the file's namespace, $URL for the webhook server, $CA for its certificate, and
// $NOWHERE for a URL at which nothing listens.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := newScenario(t, path)
		datadriven.RunTest(t, path, s.run)
	})
}

type scenario struct {
	client   dynamic.Interface
	warnings warnings
	hooks    *webhookServer
	replacer *strings.Replacer
	back     *strings.Replacer
	ns       string
	markers  int
}

// warnings collects the warnings of the responses.
type warnings struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.list
	w.list = nil
	return out
}

func newScenario(t *testing.T, path string) *scenario {
	t.Helper()
	s := &scenario{hooks: newWebhookServer(t)}
	s.ns = fmt.Sprintf("%s-%d", strings.NewReplacer("testdata/", "", "_", "-").Replace(path), scenarios.Add(1))
	s.replacer = strings.NewReplacer("$NS", s.ns, "$URL", s.hooks.URL, "$CA", s.hooks.bundle(), "$NOWHERE",
		"https://127.0.0.1:1")
	s.back = strings.NewReplacer(s.ns, "$NS", s.hooks.URL, "$URL", strings.TrimPrefix(s.hooks.URL, "https://"), "$HOST")
	cfg := rest.CopyConfig(server.Loopback())
	cfg.ContentType, cfg.WarningHandler = "application/json", &s.warnings
	cfg.AcceptContentTypes = cfg.ContentType
	var err error
	if s.client, err = dynamic.NewForConfig(cfg); err != nil {
		t.Fatal(err)
	}
	s.mustCreate(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: $NS, labels: {scenario: $NS}}")
	return s
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "webhook":
		s.hooks.setAnswers(d.CmdArgs[0].Key, strings.Split(d.Input, "\n"))
		return ""
	case "config":
		s.configure(t, d.Input)
		return ""
	case "create", "update", "delete":
		var out strings.Builder
		for _, obj := range s.objects(t, d.Input) {
			out.WriteString(s.request(t, d, obj))
		}
		return out.String()
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return ""
}

func (s *scenario) objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq(s.replacer.Replace(text), "\n---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), obj); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		out = append(out, obj)
	}
	return out
}

func (s *scenario) resource(obj *unstructured.Unstructured) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
	if obj.GetNamespace() != "" {
		return s.client.Resource(plural).Namespace(obj.GetNamespace())
	}
	return s.client.Resource(plural)
}

func (s *scenario) mustCreate(t *testing.T, text string) {
	t.Helper()
	for _, obj := range s.objects(t, text) {
		if _, err := s.resource(obj).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatalf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
		if obj.GroupVersionKind().Group != admissionregistrationv1.GroupName {
			continue
		}
		t.Cleanup(func() {
			if err := s.resource(obj).Delete(context.Background(), obj.GetName(), metav1.DeleteOptions{}); err != nil &&
				!apierrors.IsNotFound(err) {
				t.Error(err)
			}
		})
	}
}

// request sends one request, and returns a description of the result.
func (s *scenario) request(t *testing.T, d *datadriven.TestData, obj *unstructured.Unstructured) string {
	t.Helper()
	var dryRun, show []string
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "dry-run":
			dryRun = []string{metav1.DryRunAll}
		case "show":
			show = arg.Vals
		}
	}
	s.hooks.takeCalls()
	s.warnings.take()
	var err error
	switch objects := s.resource(obj); d.Cmd {
	case "create":
		obj, err = objects.Create(t.Context(), obj, metav1.CreateOptions{DryRun: dryRun})
	case "update":
		obj.SetResourceVersion(s.version(t, obj))
		obj, err = objects.Update(t.Context(), obj, metav1.UpdateOptions{DryRun: dryRun})
	case "delete":
		err = objects.Delete(t.Context(), obj.GetName(), metav1.DeleteOptions{DryRun: dryRun})
	}
	out := slices.Compact(s.hooks.takeCalls()) // an update that conflicts with a newer version is retried
	for _, text := range s.warnings.take() {
		out = append(out, "warning: "+s.back.Replace(text))
	}
	if err != nil {
		text := s.back.Replace(err.Error())
		if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
			text = string(reason) + ": " + text
		}
		out = append(out, "error: "+text)
		show = nil
	}
	for _, path := range show {
		value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(path, ".")...)
		out = append(out, fmt.Sprintf("%s: %v", path, value))
	}
	return strings.Join(append(out, ""), "\n")
}

// version returns the resourceVersion of the stored object.
func (s *scenario) version(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	stored, err := s.resource(obj).Get(t.Context(), obj.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return stored.GetResourceVersion()
}

// markers returns objects of each kind that act only on objects with one name, each in a
// recognizable way.
var markers = map[string]string{
	"MutatingWebhookConfiguration": `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: $MARKER}
webhooks:
- name: marker.example.com
  clientConfig: {url: $URL/$MARKER, caBundle: $CA}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
  objectSelector: {matchLabels: {marker: $MARKER}}
  sideEffects: None
  admissionReviewVersions: [v1]`,
	"ValidatingWebhookConfiguration": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: $MARKER}
webhooks:
- name: marker.example.com
  clientConfig: {url: $URL/$MARKER, caBundle: $CA}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
  objectSelector: {matchLabels: {marker: $MARKER}}
  sideEffects: None
  admissionReviewVersions: [v1]`,
	"ValidatingAdmissionPolicy": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: $MARKER}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
    objectSelector: {matchLabels: {marker: $MARKER}}
  validations: [{expression: "false", message: $MARKER}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: $MARKER}
spec: {policyName: $MARKER, validationActions: [Deny]}`,
	"MutatingAdmissionPolicy": `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: $MARKER}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
    objectSelector: {matchLabels: {marker: $MARKER}}
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/metadata/labels/marked", value: "yes"}]'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: $MARKER}
spec: {policyName: $MARKER}`,
}

// configure creates objects, and waits until they are effective: informers show a marker that was
// created after them only when they show the objects too.
func (s *scenario) configure(t *testing.T, text string) {
	t.Helper()
	s.mustCreate(t, text)
	for kind, manifest := range markers {
		if !strings.Contains(text, "kind: "+kind+"\n") {
			continue
		}
		s.markers++
		name := fmt.Sprintf("%s-marker-%d", s.ns, s.markers)
		s.hooks.setAnswers("/"+name, []string{"allow"})
		s.mustCreate(t, strings.ReplaceAll(manifest, "$MARKER", name))
		probe := s.objects(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: default, labels: {marker: "+name+"}}")[0]
		err := wait.PollUntilContextTimeout(
			t.Context(),
			10*time.Millisecond,
			20*time.Second,
			true,
			func(ctx context.Context) (bool, error) {
				got, err := s.resource(probe).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				called := slices.ContainsFunc(s.hooks.takeCalls(),
					func(call string) bool { return strings.HasPrefix(call, "called /"+name) })
				denied := err != nil && strings.Contains(err.Error(), name)
				return called || denied || err == nil && got.GetLabels()["marked"] != "", nil
			},
		)
		if err != nil {
			t.Fatalf("%s does not count: %v", kind, err)
		}
	}
}
