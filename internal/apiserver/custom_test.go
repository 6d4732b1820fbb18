package apiserver_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const workloadCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: myworkloads.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: MyWorkload, plural: myworkloads, singular: myworkload, shortNames: [mw]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 1, description: how many}
            x-kubernetes-validations:
            - {rule: self.size < 100, message: too many}
`

// TestCustomResources creates, changes and deletes a definition, and checks that every kind of
// discovery and OpenAPI show the resource, and do not after the deletion.
func TestCustomResources(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	create(t, "", workloadCRD)
	eventually(t, "served", func() bool { return countDescriptions(t, client) == 4 })
	gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "myworkloads"}
	objects := dynamicClient(t).Resource(gvr).Namespace(ns)

	m := create(t, ns, "apiVersion: example.com/v1\nkind: MyWorkload\nmetadata: {name: m}\nspec: {}")
	if got := nested(t, m, "spec", "size"); got != "1" {
		t.Errorf("default size is %s", got)
	}
	_, err := objects.Patch(t.Context(), "m", types.MergePatchType, []byte(`{"spec":{"size":100}}`), metav1.PatchOptions{})
	if got := causes(t, err); !slices.Equal(got, []string{"spec"}) {
		t.Errorf("rule: fields %v", got)
	}
	_, err = objects.Patch(
		t.Context(),
		"m",
		types.ApplyPatchType,
		[]byte(`{"apiVersion":"example.com/v1","kind":"MyWorkload","metadata":{"name":"m"},"spec":{"size":7}}`),
		metav1.PatchOptions{FieldManager: "a", Force: new(true)},
	)
	if err != nil {
		t.Errorf("apply: %v", err)
	}
	_, err = objects.Patch(t.Context(), "m", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"x"}}`),
		metav1.PatchOptions{})
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "metadata.resourceVersion") {
		t.Errorf("a version that is no number: got %v, want a bad request", err)
	}
	misspelt := parse(t, "apiVersion: example.com/v1\nkind: MyWorkload\nmetadata: {name: other}\nspec: {sice: 7}")[0]
	_, err = objects.Create(t.Context(), misspelt, metav1.CreateOptions{FieldValidation: "Strict"})
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "spec.sice") {
		t.Errorf("unknown field: got %v, want a bad request", err)
	}
	table, err := client.RESTClient().Get().AbsPath("/apis/example.com/v1/namespaces/"+ns+"/myworkloads").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil || !strings.Contains(string(table), `"cells":["m",7`) {
		t.Errorf("table: %s, %v", table, err)
	}
	if _, err := tryMissingNamespace(t, gvr); !apierrors.IsNotFound(err) {
		t.Errorf("missing namespace: got %v, want not found", err)
	}

	crds := schema.GroupVersionResource{
		Group:    "apiextensions.k8s.io",
		Version:  "v1",
		Resource: "customresourcedefinitions",
	}
	if err := dynamicClient(t).Resource(crds).Delete(t.Context(), "myworkloads.example.com",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "gone", func() bool { return countDescriptions(t, client) == 0 })
}

// countDescriptions returns how many of the four descriptions contain the custom resource.
func countDescriptions(t *testing.T, client kubernetes.Interface) int {
	t.Helper()
	n := 0
	for _, place := range []struct{ path, accept, text string }{
		{"/apis", "application/json", `"example.com"`},
		{"/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", `"myworkloads"`},
		{"/openapi/v2", "application/json", "com.example.v1.MyWorkload"},
		{"/openapi/v3", "application/json", "apis/example.com/v1"},
	} {
		body, err := client.Discovery().RESTClient().Get().AbsPath(place.path).SetHeader(
			"Accept",
			place.accept,
		).DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), place.text) {
			n++
		}
	}
	return n
}

func tryMissingNamespace(t *testing.T, gvr schema.GroupVersionResource) (any, error) {
	t.Helper()
	obj := parse(t, "apiVersion: example.com/v1\nkind: MyWorkload\nmetadata: {name: m}\nspec: {}")[0]
	return dynamicClient(t).Resource(gvr).Namespace("no-such-namespace").Create(t.Context(), obj, metav1.CreateOptions{})
}

// eventually waits for changes that the server makes asynchronously.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("not %s in time", what)
}

// TestOpenAPIDescribesTheAddedFields checks the descriptions that kubectl explain reads.
func TestOpenAPIDescribesTheAddedFields(t *testing.T) {
	client := clientset(t, remote(t))
	for path, texts := range map[string][]string{
		"/openapi/v3/api/v1":                        {`"podGroupResourceClaim"`, `"clusterResourceClaimTemplateName"`},
		"/openapi/v3/apis/apps/v1":                  {`"podGroupResourceClaim"`},
		"/openapi/v3/apis/resource.k8s.io/v1":       {`"reservedForAnyPod"`},
		"/openapi/v3/apis/resource.k8s.io/v1alpha3": {"ClusterResourceClaimTemplateSpec", "DeviceTaintRuleSpec"},
		"/openapi/v3/apis/resource.k8s.io/v1beta2":  {`"reservedForAnyPod"`, `"exactly"`, "DeviceTaintRuleSpec"},
		"/openapi/v3/apis/resource.k8s.io/v1beta1": {`"reservedForAnyPod"`, `"basic"`,
			"io.k8s.api.resource.v1beta1.DeviceRequest"},
		"/openapi/v3/apis/scheduling.k8s.io/v1alpha2": {`"podGroupTemplateRef"`},
		"/openapi/v3/apis/apiextensions.k8s.io/v1":    {"CustomResourceDefinitionSpec"},
		"/openapi/v2": {`"podGroupResourceClaim"`, `"podGroupTemplateRef"`, "CustomResourceDefinitionSpec"},
	} {
		body, err := client.Discovery().RESTClient().Get().AbsPath(path).SetHeader(
			"Accept",
			"application/json",
		).DoRaw(t.Context())
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for _, text := range texts {
			if !strings.Contains(string(body), text) {
				t.Errorf("%s does not have %s", path, text)
			}
		}
		if strings.Contains(string(body), "__internal") {
			t.Errorf("%s shows internal versions", path)
		}
	}
}
