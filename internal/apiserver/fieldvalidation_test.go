package apiserver_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// warnings collects the warning headers of responses.
type warnings struct{ texts []string }

func (w *warnings) HandleWarningHeader(_ int, _, text string) { w.texts = append(w.texts, text) }

const twoMistakes = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},
"spec":{"containers":[{"name":"c","image":"i","imag":"j"}],"dnsPolicy":"Default","dnsPolicy":"Default",
"resourceClaims":[{"name":"r","resourceClaimName":"x","podGroupResourceClam":"y"}]}}`

func TestFieldValidation(t *testing.T) {
	tests := []struct {
		mode     string
		refused  bool
		warnings int
	}{
		{"", false, 3}, {"Warn", false, 3}, {"Ignore", false, 0}, {"Strict", true, 0}, {"Loud", true, 0},
	}
	for _, tt := range tests {
		t.Run("mode="+tt.mode, func(t *testing.T) {
			ns, w := namespace(t), &warnings{}
			cfg := remote(t)
			cfg.WarningHandler = w
			req := clientset(t, cfg).CoreV1().RESTClient().Post().Namespace(ns).Resource("pods").
				SetHeader("Content-Type", "application/json").Body([]byte(twoMistakes))
			if tt.mode != "" {
				req = req.Param("fieldValidation", tt.mode)
			}
			err := req.Do(t.Context()).Error()
			if (err != nil) != tt.refused {
				t.Errorf("got %v, refused: want %v", err, tt.refused)
			}
			if len(w.texts) != tt.warnings {
				t.Errorf("warnings are %q, want %d", w.texts, tt.warnings)
			}
			texts := strings.Join(w.texts, "\n")
			if tt.mode == "Strict" {
				if !apierrors.IsBadRequest(err) {
					t.Errorf("got %v, want a bad request", err)
				}
				texts = err.Error()
			}
			if tt.mode == "Ignore" || tt.mode == "Loud" {
				return
			}
			for _, field := range []string{"spec.containers[0].imag", "dnsPolicy",
				"spec.resourceClaims[0].podGroupResourceClam"} {
				if !strings.Contains(texts, field) {
					t.Errorf("%q does not name %s", texts, field)
				}
			}
		})
	}
}

// TestStrictPatchKnowsTheAddedFields sends the patch that kubectl apply sends for an existing
// object.
func TestStrictPatchKnowsTheAddedFields(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	create(t, ns, podYAML)
	for kind, body := range map[types.PatchType]string{
		types.StrategicMergePatchType: `{"metadata":{"labels":{"a":"b"}},"spec":{"resourceClaims":[{"name":"r","podGroupResourceClaim":"shared"}]}}`,
		types.MergePatchType:          `{"spec":{"resourceClaims":[{"name":"r","podGroupResourceClaim":"shared"}]}}`,
	} {
		_, err := client.CoreV1().Pods(ns).Patch(
			t.Context(),
			"p",
			kind,
			[]byte(body),
			metav1.PatchOptions{FieldValidation: "Strict"},
		)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

const podYAML = `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  schedulingGroup: {podGroupName: g}
  resourceClaims:
  - {name: r, podGroupResourceClaim: shared}
  containers:
  - {name: c, image: i, resources: {claims: [{name: r}]}}
`

// create creates the objects of a YAML text in ns, and returns the last one.
func create(t *testing.T, ns, text string) *unstructured.Unstructured {
	t.Helper()
	out, err := tryCreate(t, ns, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tryCreate is like create, but returns errors.
func tryCreate(t *testing.T, ns, text string) (out *unstructured.Unstructured, err error) {
	t.Helper()
	kinds := served(t)
	for _, obj := range parse(t, text) {
		gvk := obj.GroupVersionKind()
		res, ok := kinds[gvk]
		if !ok {
			t.Fatalf("%v is not served", gvk)
		}
		client := dynamicClient(t).Resource(gvk.GroupVersion().WithResource(res.Name))
		if res.Namespaced {
			out, err = client.Namespace(ns).Create(t.Context(), obj, metav1.CreateOptions{})
		} else {
			out, err = client.Create(t.Context(), obj, metav1.CreateOptions{})
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// TestApplyByTwoManagers checks that two managers can own individual claims of one pod template.
func TestApplyByTwoManagers(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	deployment := func(claims, replicas string) []byte {
		return []byte(
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{` + replicas + `"selector":{"matchLabels":{"a":"b"}},
"template":{"metadata":{"labels":{"a":"b"}},"spec":{"schedulingGroup":{"podGroupName":"g"},"resourceClaims":[` + claims + `],"containers":[{"name":"c","image":"i"}]}}}}`,
		)
	}
	apply := func(manager string, force bool, body []byte) error {
		_, err := client.AppsV1().Deployments(ns).Patch(
			t.Context(),
			"d",
			types.ApplyPatchType,
			body,
			metav1.PatchOptions{FieldManager: manager, Force: &force},
		)
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(apply("one", false, deployment(`{"name":"x","podGroupResourceClaim":"shared"}`, `"replicas":1,`)))
	must(apply("two", false, deployment(`{"name":"y","clusterResourceClaimTemplateName":"t"}`, "")))
	if got := templateClaims(t, ns); !slices.Equal(got, []string{"x=shared", "y=t"}) {
		t.Errorf("claims are %v", got)
	}
	err := apply("two", false, deployment(`{"name":"y","clusterResourceClaimTemplateName":"t"}`, `"replicas":3,`))
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), ".spec.replicas") {
		t.Errorf("a field of another manager: got %v, want a conflict on it", err)
	}
	must(apply("two", true, deployment(`{"name":"y","clusterResourceClaimTemplateName":"t"}`, `"replicas":3,`)))
	must(apply("two", false, deployment("", `"replicas":3,`)))
	if got := templateClaims(t, ns); !slices.Equal(got, []string{"x=shared"}) {
		t.Errorf("after two gave up its claim: %v", got)
	}
}

func templateClaims(t *testing.T, ns string) []string {
	t.Helper()
	d, err := dynamicClient(t).Resource(deploymentsResource).Namespace(ns).Get(t.Context(), "d", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "resourceClaims")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		m := e.(map[string]any)
		for k, v := range m {
			if k != "name" {
				out = append(out, m["name"].(string)+"="+v.(string))
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestUnknownMediaTypeIsRefused(t *testing.T) {
	var status int
	clientset(t, remote(t)).CoreV1().RESTClient().Post().Namespace(namespace(t)).Resource("pods").
		SetHeader("Content-Type", "text/plain").Body([]byte("x")).Do(t.Context()).StatusCode(&status)
	if status != http.StatusUnsupportedMediaType {
		t.Errorf("got %d, want 415", status)
	}
}

var _ rest.WarningHandler = &warnings{}
